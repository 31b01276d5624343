// A browser starts no worker for a page that was opened from a folder, and the search of the site is one. There, a
// worker is a frame of the page: its script runs in the frame, and messages are events of the two.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.loaded = new Promise((resolve) => {
        const inner = frame.contentWindow;
        inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inner.document.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = () => resolve(inner);
        inner.document.body.append(script);
      });
    }

    async postMessage(data) {
      (await this.loaded).dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
