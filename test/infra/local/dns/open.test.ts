import { expect, onTestFinished, test, vi } from "vitest";

import { openDns } from "../../../../infra/local/dns/dns.ts";
import { startDnsServer } from "../../../../infra/local/dns/server.ts";
import { resolverHere } from "../../../../shared/dns/services.ts";
import { delegate } from "../../../../shared/providers/registrar/embedded-names.ts";
import { a, ns, serving } from "../../../support/dns-network.ts";
import { uniqueName } from "../../../support/domains.ts";
import { testTable } from "../../../support/world.ts";

test("a developer's own nameservers are asked for the names that are delegated to them", async () => {
  const name = uniqueName();
  const answer = serving({ name, rrsets: [ns(name, "ns1.my-dns.example"), a(`www.${name}`, "192.0.2.7")] });
  const own = await startDnsServer({ port: 0, answer });
  onTestFinished(own.stop);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("DNS_PROVIDER", "embedded");
  // `openDns` sets this variable. After a stub, the variable gets its former value back when the test has finished.
  vi.stubEnv("DNS_ROOTS", "");
  vi.stubEnv("DNS_KNOWN", `my-dns.example=127.0.0.1:${own.port}`);
  const dns = await openDns({ table: testTable(), port: 0, onError: (_, error) => expect.unreachable(String(error)) });
  onTestFinished(dns.stop);
  await delegate(testTable(), name, ["ns1.my-dns.example"]);
  expect(await resolverHere().resolve(`www.${name}`, "A")).toMatchObject({ records: [{ address: "192.0.2.7" }] });
});
