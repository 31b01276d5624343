"""The way out: one conversation a link, which sends entries and events and asks what became of them.

Events go in the order of their numbers, one request at a time, and the next one only after the neighbour has said
that the last is on its disk. Whatever fails begins again with a handshake, after a wait that doubles; an event
that was taken before a connection broke is sent once more, and the neighbour knows it by its id.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import httpx2

from tamis.service.inbox import InboxEvent
from tamis.service.peers import protocol
from tamis.service.peers.announcements import ANYTHING
from tamis.service.peers.entries import Entry, digest_of
from tamis.service.peers.links import DOWN, LINKED, REFUSED, Link, LinkError
from tamis.service.peers.outbox import IN_VAIN
from tamis.service.peers.site import Site

if TYPE_CHECKING:
    from tamis.service.core import Service

_log = logging.getLogger(__name__)

_IDLE_SECONDS = 0.05
_LOOK_SECONDS = 0.2
_OUTCOME_SECONDS = 1.0
_HELLO_SECONDS = 30.0
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_TIMEOUT_SECONDS = 60.0
_EVENTS = 1_000
_EVENT_BYTES = 4 << 20
"""Of a request; one more event than fits is sent all the same."""
_READ_EVENTS = 50
"""Read from the inbox at once: what is in memory is bounded by as many of the longest ones."""
_ENTRIES = 1_000
_OUTCOMES = 2_000


class Senders:
    """A conversation for each link, as links come and go."""

    def __init__(self, service: Service, site: Site) -> None:
        self._service = service
        self._site = site

    async def run(self, stop: asyncio.Event) -> None:
        """Keep a conversation with every neighbour until `stop` is set."""
        running: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        try:
            while not stop.is_set():
                wait = _LOOK_SECONDS
                try:
                    await self._look(running)
                except Exception:  # links are not worth the service
                    _log.exception("links cannot be looked at; trying again")
                    wait = _FIRST_WAIT_SECONDS
                await _sleep_or(stop, wait)
        finally:
            for task in running.values():
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)

    async def _look(self, running: dict[tuple[str, str, str], asyncio.Task[None]]) -> None:
        """End the conversations of links that are gone, and begin those of new ones, or that have failed."""
        found = await asyncio.to_thread(self._site.links.all)
        links = {(each.name, each.url, each.token): each for each in found}
        for key in [*running]:
            if key not in links or running[key].done():
                running.pop(key).cancel()
        for key, link in links.items():
            if key not in running:
                running[key] = asyncio.create_task(Conversation(self._service, self._site, link).run())


class BackOff:
    """How long to wait after each failure: twice as long as before, up to a bound, and not in step with others."""

    def __init__(self) -> None:
        """Nothing has failed."""
        self._longest = _FIRST_WAIT_SECONDS

    def next_seconds(self) -> float:
        """The wait after another failure."""
        longest, self._longest = self._longest, min(2 * self._longest, _LONGEST_WAIT_SECONDS)
        return longest * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Something has worked."""
        self._longest = _FIRST_WAIT_SECONDS


class Conversation:
    """What this site says to one neighbour."""

    def __init__(self, service: Service, site: Site, link: Link) -> None:
        """Nothing is said yet."""
        self._service = service
        self._site = site
        self._link = link
        self._name = link.name
        self._there: set[str] = set()
        self._skipped: set[str] = set()
        self._widened: set[str] = set()
        self._reach: list[str] = []
        self._announced: frozenset[Entry] = frozenset()

    async def run(self) -> None:
        """Talk until cancelled."""
        headers = {"Authorization": f"Bearer {self._link.token}", protocol.SITE_HEADER: self._site.name}
        back_off = BackOff()
        async with httpx2.AsyncClient(
            base_url=self._link.url, headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False
        ) as self._client:
            while True:
                try:
                    await self._hello()
                    back_off.reset()
                    await self._converse()
                    continue
                except LinkError as error:
                    if error.kind == "hello":
                        await asyncio.sleep(_LOOK_SECONDS)
                        continue
                    await asyncio.to_thread(self._site.cut, self._name, error, REFUSED)
                except (httpx2.HTTPError, _UnavailableError) as error:
                    reason = LinkError(f"site {self._name!r} does not answer: {_text(error)}", "down")
                    await asyncio.to_thread(self._note_down, reason)
                except Exception as error:
                    _log.exception("the conversation with site %r failed", self._name)
                    reason = LinkError(f"the conversation failed: {_text(error)}", "failure")
                    await asyncio.to_thread(self._note_down, reason)
                await asyncio.sleep(back_off.next_seconds())

    def _note_down(self, reason: LinkError) -> None:
        """Keep why the neighbour does not answer; one that was never agreed on stays new, and leads nowhere."""
        for link in self._site.links.all():
            if link.name == self._name:
                self._site.links.note(link.name, DOWN if link.state == LINKED else link.state, reason)

    async def _hello(self) -> None:
        said = await asyncio.to_thread(self._site.introduction, self._name, digest_of(self._there))
        answer = protocol.HelloAnswer.model_validate(await self._post(protocol.HELLO, said.model_dump()))
        await asyncio.to_thread(self._site.agree, self._name, answer, has_answered=True)
        if answer.entries is not None:
            self._there = {*answer.entries}
        self._reach = said.reach
        self._announced = frozenset(
            {ANYTHING} if said.announced is None else (Entry(*each) for each in said.announced)
        )
        self._skipped.clear()
        self._widened.clear()

    async def _converse(self) -> None:
        """Send what there is until the next handshake is due, or something fails."""
        tasks = [asyncio.create_task(each) for each in (self._entries(), self._events(), self._outcomes())]
        try:
            done, _ = await asyncio.wait(tasks, timeout=_HELLO_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # --- entries -----------------------------------------------------------------------------------------

    async def _entries(self) -> None:
        """Let the neighbour have the entries of every version; ends when there is something else to say."""
        sent, is_late, heard = -1, False, None  # each conversation begins anew, with what the cut-off says now
        while True:
            version = await asyncio.to_thread(self._service.store.version)
            now = self._site.announcements.heard(self._name)
            if version != sent or is_late or now != heard:
                heard = now
                sent, is_late = await self._send_entries()
            reach = await asyncio.to_thread(self._site.links.reach_without, self._name)
            if sorted(reach) != self._reach:
                return
            if await asyncio.to_thread(self._site.announced_to, self._name) != self._announced:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _send_entries(self) -> tuple[int, bool]:
        """Send the difference between what the neighbour has and what it is to have.

        Returns:
            The version of the store, and whether entries of the same version will be made again.
        """
        while True:
            version, wanted = await asyncio.to_thread(self._site.wanted_entries, self._name, self._widened)
            self._site.note_entries(self._name, wanted)
            new = [wanted.entries[key] for key in wanted.entries.keys() - self._there - self._skipped]
            old = sorted(self._there - wanted.entries.keys())
            if not new and not old:
                return version, wanted.is_late
            # What is new goes first: a condition that is replaced is never without an entry.
            steps: list[tuple[Sequence[Any], list[str]]] = [
                (new[start : start + _ENTRIES], []) for start in range(0, len(new), _ENTRIES)
            ]
            steps += [([], old)] if old else []
            digest, is_widened = "", False
            for add, remove in steps:
                types = await asyncio.to_thread(self._site.described_types, {each.event_type for each in add})
                changes = protocol.EntryChanges(types=types, add=[tuple(each) for each in add], remove=remove)
                said = await self._post(protocol.ENTRIES, changes.model_dump())
                answer = protocol.EntriesAnswer.model_validate(said)
                self._there |= {each.key for each in add} - answer.refused.keys()
                self._there -= {*remove}
                self._skipped |= answer.refused.keys()
                digest = answer.digest
                unread = {
                    wanted.entries[key].event_type for key, kind in answer.refused.items() if kind != "tenant"
                }
                is_widened |= bool(unread - self._widened)
                self._widened |= unread
            if digest != digest_of(self._there):
                msg = f"site {self._name!r} has other entries than it was sent"
                raise LinkError(msg, "hello")
            if not is_widened:
                return version, wanted.is_late

    # --- events ------------------------------------------------------------------------------------------

    async def _events(self) -> None:
        while True:
            numbers = await asyncio.to_thread(self._site.outbox.pending, self._name, _EVENTS)
            if not numbers:
                await asyncio.sleep(_IDLE_SECONDS)
                continue
            events, upto = await asyncio.to_thread(self._read, numbers)
            body = protocol.write_events(events, self._site.name)
            headers = {"Content-Type": "application/x-ndjson"}
            answer = await self._client.post(protocol.EVENTS, content=body, headers=headers)
            protocol.EventsAnswer.model_validate(_answer_json(answer))
            await asyncio.to_thread(self._site.outbox.acknowledge, self._name, numbers[:upto])
            self._site.forwarded[self._name] += upto

    def _read(self, numbers: Sequence[int]) -> tuple[list[InboxEvent], int]:
        """The first events of these numbers, as many as go into a request, and how many numbers that are."""
        events: list[InboxEvent] = []
        upto, size = 0, 0
        while upto < len(numbers) and size < _EVENT_BYTES:
            some = numbers[upto : upto + _READ_EVENTS]
            found = self._service.inbox.numbered(some)
            if len(found) < len(some):
                _log.error("%d events for site %r are not kept any more", len(some) - len(found), self._name)
            events += found
            size += sum(len(each.value) for each in found)
            upto += len(some)
        return events, upto

    async def _outcomes(self) -> None:
        while True:
            asked = await asyncio.to_thread(self._site.outbox.undecided, self._name, _OUTCOMES)
            if asked:
                names = protocol.EventNames(ids=[id for _, id in asked])
                said = await self._post(protocol.OUTCOMES, names.model_dump())
                outcomes = protocol.OutcomesAnswer.model_validate(said).outcomes
                known = {number: outcomes[id] for number, id in asked if id in outcomes}
                if known:
                    self._site.answered[self._name] += len(known)
                    self._site.in_vain[self._name] += [*known.values()].count(IN_VAIN)
                    await asyncio.to_thread(self._site.outbox.decide, self._name, known)
                if len(known) == _OUTCOMES:
                    continue
            await asyncio.sleep(_OUTCOME_SECONDS)

    async def _post(self, path: str, body: Any) -> Any:
        return _answer_json(await self._client.post(path, json=body))


class _UnavailableError(Exception):
    """The neighbour answered with something that may pass."""


def _answer_json(answer: httpx2.Response) -> Any:
    """The JSON of an answer.

    Raises:
        LinkError: The neighbour does not agree.
        _UnavailableError: It cannot answer now.
    """
    if answer.status_code < 300:
        return answer.json()
    try:
        said = answer.json()
    except ValueError:
        said = {}
    detail = str(said.get("detail", ""))[:500]
    if answer.status_code == 409 and "link_problem" in said:
        raise LinkError(detail, str(said["link_problem"]))
    if answer.status_code == 401:
        raise LinkError(detail, "token")
    raise _UnavailableError(f"{answer.status_code} {detail}")  # noqa: EM102 - shown as it is


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def _sleep_or(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
