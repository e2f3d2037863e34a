import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { expect, onTestFinished, test, vi } from "vitest";

import type { DnsSetup } from "../../../shared/domains/health/dns-setup.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { connected, domainsRequest, readDomain, uniqueName, verify } from "../../support/domains.ts";
import { send } from "../../support/mailboxes.ts";
import { newAccount, testTable } from "../../support/world.ts";

/** Knot DNS, Debian's package `knot`. */
const knotd = "knotd";
const isInstalled = spawnSync(knotd, ["-V"]).status === 0;
const host = "ns1.stock-dns.example";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a DNS server with one zone, and delegates the zone to it. The product does not control this server. */
async function stockDns(
  name: string,
  records: readonly string[],
): Promise<{ publish: (lines: string[]) => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "stock-dns-"));
  const port = await freePort();
  let serial = 0;
  const writeZone = (lines: readonly string[]): void => {
    serial += 1;
    const apex = [`@ 3600 IN SOA ${host}. hostmaster.${name}. ${serial} 3600 600 86400 300`, `@ 3600 IN NS ${host}.`];
    writeFileSync(join(folder, "zone"), `$ORIGIN ${name}.\n${[...apex, ...lines].join("\n")}\n`);
  };
  writeZone(records);
  writeFileSync(
    join(folder, "knot.conf"),
    `server:
    rundir: "${folder}"
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "${folder}"
acl:
  - id: anybody
    action: transfer
zone:
  - domain: ${name}
    storage: "${folder}"
    file: zone
    acl: anybody
`,
  );
  const server = spawn(knotd, ["-c", join(folder, "knot.conf")], { stdio: ["ignore", "pipe", "pipe"] });
  const lines = createInterface({ input: server.stderr });
  const output = createInterface({ input: server.stdout });
  onTestFinished(async () => {
    server.kill("SIGKILL");
    await once(server, "exit");
    rmSync(folder, { recursive: true });
  });
  const said = (text: string): Promise<void> =>
    new Promise((settle) => {
      for (const source of [lines, output]) source.on("line", (line) => void (line.includes(text) && settle()));
    });
  await Promise.all([said("loaded, serial"), said("server started")]);
  vi.stubEnv("DNS_KNOWN", `${process.env["DNS_KNOWN"]},stock-dns.example=127.0.0.1:${port}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  await delegate(testTable(), name, [host]);
  return {
    publish: async (more) => {
      const loaded = said(`loaded, serial ${serial} -> ${serial + 1}`);
      writeZone(more);
      server.kill("SIGHUP");
      await loaded;
    },
  };
}

const quoted = (text: string): string => (text.match(/.{1,200}/g) ?? []).map((part) => `"${part}"`).join(" ");

/** The records of `dns_setup` as lines of a zone file. */
const linesOf = ({ records }: DnsSetup): string[] =>
  records.map(({ name, type, priority, value }) => {
    if (type === "TXT") return `${name} 300 IN TXT ${quoted(value ?? "")}`;
    return `${name} 300 IN ${type} ${priority ?? ""} ${value}.`;
  });

test.skipIf(!isInstalled)(
  "with Knot DNS (`apt-get install knot`): a domain can send once the records of dns_setup are published unchanged",
  { timeout: 30_000 },
  async () => {
    const account = await newAccount();
    const name = uniqueName();
    const { publish } = await stockDns(name, ["www 300 IN A 192.0.2.1"]);
    await connected(account, { name, dnsMode: "external" });
    const setup = async (): Promise<DnsSetup> => (await domainsRequest(account, "GET", `/${name}/dns-setup`)).body;
    const before = await setup();
    expect(before.records.map(({ status }) => status)).toEqual(Array(8).fill("missing"));
    expect((await verify(account, name)).body).toMatchObject({ verified: false, fault: "proof_missing" });

    await publish(linesOf(before));
    expect((await verify(account, name)).body).toMatchObject({ verified: true, outbound_routing_ready: true });
    expect(await setup()).toMatchObject({ is_complete: true });
    expect((await setup()).records.map(({ status }) => status)).toEqual(Array(8).fill("ok"));
    expect(await readDomain(account, name)).toMatchObject({ status: "active", outbound_routing_ready: true });
  },
);

test.skipIf(!isInstalled)(
  "with Knot DNS (`apt-get install knot`): a zone is imported whole by AXFR",
  { timeout: 30_000 },
  async () => {
    const account = await newAccount();
    const name = uniqueName();
    const odd = Array.from({ length: 300 }, (_, index) => `host-nobody-knows-${index} 300 IN A 192.0.2.${index % 250}`);
    await stockDns(name, [
      ...odd,
      "@ 300 IN MX 10 mx.former.example.",
      '@ 300 IN HTTPS 1 . alpn="h2,h3" port=8443 ipv4hint=192.0.2.1',
      "_25._tcp.mail 300 IN TLSA 3 1 1 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
      "mail 300 IN SSHFP 4 2 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
      `long 300 IN TXT ${quoted("x".repeat(600))}`,
      '@ 300 IN CAA 0 issue "letsencrypt.org"',
      "_sip._tls 300 IN SRV 1 2 443 sip.former.example.",
      "* 300 IN CNAME www",
    ]);
    await connected(account, { name });
    const body = { domain: name, source: "public_dns", dry_run: true };
    const dry = await send(account, "POST", "dns-records/import", body);
    expect(dry.body).toMatchObject({ method: "transfer", created_count: 307, unanswered_count: 0 });
    expect(dry.body.skipped.map(({ text }: { text: string }) => /NS|MX/.exec(text)?.[0])).toEqual(["NS", "MX"]);
    const real = await send(account, "POST", "dns-records/import", { ...body, dry_run: false });
    expect(real.body).toMatchObject({ method: "transfer", created_count: 307 });
    const { zone_file } = (await send(account, "GET", `dns-records/export?domain=${name}`)).body;
    for (const line of [
      `@\t300\tIN\tHTTPS\t1 . alpn="h2,h3" port=8443 ipv4hint=192.0.2.1`,
      `*\t300\tIN\tCNAME\twww.${name}.`,
      "_sip._tls\t300\tIN\tSRV\t1 2 443 sip.former.example.",
      "_25._tcp.mail\t300\tIN\tTLSA\t3 1 1 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
      "mail\t300\tIN\tSSHFP\t4 2 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
    ]) {
      expect(zone_file).toContain(line);
    }
  },
);
