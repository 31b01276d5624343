import com.fasterxml.jackson.core.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.opensearch.action.support.WriteRequest.RefreshPolicy;
import org.opensearch.client.Client;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.xcontent.*;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.*;
import org.opensearch.index.query.*;
import org.opensearch.node.*;
import org.opensearch.percolator.*;
import org.opensearch.search.SearchHit;
import org.opensearch.search.builder.SearchSourceBuilder;

/**
 * Decides queries by the percolator of OpenSearch, in a node within this process. Input and output are those of
 * cel.go, but for a line of the mapping of the fields before the events; every line is a string of JSON, or an
 * array of such strings.
 */
public class Percolate extends Node {
  Percolate(Settings settings) {
    super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "one"),
        List.of(org.opensearch.transport.Netty4Plugin.class, PercolatorPlugin.class), false);
  }

  static Object read(String text) throws IOException {
    try (XContentParser parser = JsonXContent.jsonXContent.createParser(
        NamedXContentRegistry.EMPTY, DeprecationHandler.IGNORE_DEPRECATIONS, "{\"it\":" + text + "}")) {
      return parser.map().get("it");
    }
  }

  @SuppressWarnings("unchecked")
  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    Path home = Files.createTempDirectory("percolate");
    Settings settings = Settings.builder().put("path.home", home).put("cluster.name", "one")
        .put("discovery.type", "single-node").put("node.name", "one").build();
    try (Node node = new Percolate(settings).start()) {
      Client client = node.client();
      client.admin().indices().prepareCreate("queries").setMapping((String) read(in.readLine())).get();
      List<String> events = (List<String>) read(in.readLine());
      int count = 0;
      Set<Integer> refused = new HashSet<>();
      for (String line = in.readLine(); line != null; line = in.readLine(), count++) {
        try {
          client.prepareIndex("queries").setId("" + count)
              .setSource("{\"query\":" + read(line) + "}", XContentType.JSON).get();
        } catch (RuntimeException error) {
          refused.add(count);
        }
      }
      client.admin().indices().prepareRefresh("queries").get();
      List<List<Integer>> matches = new ArrayList<>();
      for (int at = 0; at < count; at++) matches.add(new ArrayList<>());
      for (int at = 0; at < events.size(); at++) {
        PercolateQueryBuilder asked = new PercolateQueryBuilder("query",
            new org.opensearch.core.common.bytes.BytesArray(events.get(at)), XContentType.JSON);
        SearchSourceBuilder source = new SearchSourceBuilder().query(asked).size(10000).fetchSource(false);
        for (SearchHit hit : client.prepareSearch("queries").setSource(source).get().getHits())
          matches.get(Integer.parseInt(hit.getId())).add(at);
      }
      for (int at = 0; at < count; at++) out.println(refused.contains(at) ? "null" : matches.get(at).toString());
    }
    System.exit(0);
  }
}
