import { beforeEach, expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import type { Dns } from "../../../../shared/providers/dns/dns.ts";
import { route53Dns } from "../../../../shared/providers/dns/route53.ts";
import { awsEnvironment, stubAws } from "../../../support/aws.ts";
import { a } from "../../../support/dns-network.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { loadingOf } from "../lazy-loading.ts";
import { fault, newZone, type Trouble } from "../route53-service.ts";
import { input, scene, type Scene, unavailable } from "./route53-scene.ts";

beforeEach(() => stubAws("us-east-1"));

test("every request is signed with SigV4 for route53 in us-east-1", async () => {
  const { dns, recorded } = await scene();
  await dns.createZone(input);
  for (const { headers } of recorded) {
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/us-east-1\/route53\/aws4_request, SignedHeaders=\S*host;x-amz-content-sha256;x-amz-date\S*, Signature=[0-9a-f]{64}$/,
    );
  }
  expect(recorded[1]?.headers["content-type"]).toBe("application/xml");
});

const change = (one: Scene) => one.dns.changeZone("Z1", [{ put: a("a.example.com", "192.0.2.1") }]);
const passing: [string, Trouble][] = [
  ["throttles", fault("Throttling", 400, "Rate exceeded")],
  ["still works on an earlier change", fault("PriorRequestNotComplete")],
  ["has an internal failure", fault("InternalFailure", 500)],
  ["is behind a bad gateway", { status: 502, body: "<h1>Bad gateway</h1>" }],
  ["is silent", "silence"],
  ["stops in the middle", "stall"],
  ["hangs up", "hang-up"],
];

test("a temporary failure is tried again, and three failures cause a 503", async () => {
  const nowhere = thrownBy(route53Dns({ endpoint: "http://127.0.0.1:1" }).isInSync("C1"));
  await Promise.all(
    passing.map(async ([what, trouble]) => {
      const once = await scene([trouble]);
      once.zones.set("Z1", newZone("Z1", "example.com.", "domain-1"));
      const ever = await scene([trouble, trouble, trouble]);
      const [changed, error] = await Promise.all([change(once), thrownBy(change(ever))]);
      expect(changed, what).toEqual({ changeId: "C1", isInSync: false });
      expect(once.recorded, what).toHaveLength(2);
      expect(error, what).toMatchObject(unavailable);
      expect(ever.recorded, what).toHaveLength(3);
    }),
  );
  expect(await nowhere).toMatchObject(unavailable);
});

test.each([
  ["no XML", "<html><b>Hello"],
  ["other XML", "<html><b>Hello</b></html>"],
  ["nothing", ""],
])("an answer with 200 and %s causes a 503, and the request is not repeated", async (_what, body) => {
  const garbled = { status: 200, headers: { "content-type": "text/xml" }, body };
  const uses: ((dns: Dns) => Promise<unknown>)[] = [
    (dns) => dns.createZone(input),
    (dns) => dns.changeZone("Z1", [{ put: a("a.example.com", "192.0.2.1") }]),
    (dns) => dns.changeZone("Z1", [{ remove: { name: "a.example.com", type: "A" } }]),
    (dns) => dns.isInSync("C1"),
    (dns) => dns.deleteZone("Z1"),
  ];
  await Promise.all(
    uses.map(async (use) => {
      const { dns, recorded } = await scene([garbled]);
      expect(await thrownBy(use(dns))).toMatchObject(unavailable);
      expect(recorded).toHaveLength(1);
    }),
  );
});

test.each([
  ["AccessDenied", 403],
  ["NoSuchHostedZone", 404],
  ["InvalidInput", 400],
])("%s for a change is our own mistake, so it causes no 503 and no second attempt", async (code, status) => {
  const one = await scene([fault(code, status)]);
  const error = await thrownBy(change(one));
  expect(error).toMatchObject({ name: code });
  expect(error).not.toBeInstanceOf(Problem);
  expect(one.recorded).toHaveLength(1);
});

test("the SDK is loaded only at the first use of the provider, and uses the endpoint in the environment", () => {
  const loading = loadingOf("dns/factory.ts", {
    modules: /client-route-53/,
    make: "provider.dns({})",
    use: 'made.isInSync("C1")',
    env: {
      ...awsEnvironment("us-east-1"),
      DNS_PROVIDER: "route53",
      AWS_ENDPOINT_URL_ROUTE_53: "http://127.0.0.1:1",
    },
  });
  expect(loading).toEqual({ before: 0, after: true, failure: "upstream_unavailable" });
});
