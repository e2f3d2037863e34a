import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";

import { type DecodedPacket, type Packet, decode, encode } from "dns-packet";
import { onTestFinished } from "vitest";

import { type DnsServer, type DnsServerOptions, startDnsServer } from "../../../../infra/local/dns/server.ts";
import type { RRset } from "../../../../shared/dns/rrset.ts";
import { a, cname, ns, serving, txt } from "../../../support/dns-network.ts";

const longText = "v=DKIM1; k=rsa; p=".padEnd(700, "é");
export const zone: { name: string; rrsets: RRset[] } = {
  name: "example.test",
  rrsets: [
    ns("example.test", "ns1.example.test", "ns2.example.test"),
    a("example.test", "192.0.2.1", "192.0.2.2"),
    { name: "example.test", type: "AAAA", ttl: 60, data: [{ type: "AAAA", address: "2001:db8::1" }] },
    {
      name: "example.test",
      type: "MX",
      ttl: 300,
      data: [
        { type: "MX", priority: 10, host: "mx1.example.test" },
        { type: "MX", priority: 0, host: "" },
      ],
    },
    txt("example.test", "v=spf1 -all", longText, ""),
    {
      name: "_imaps._tcp.example.test",
      type: "SRV",
      ttl: 300,
      data: [{ type: "SRV", priority: 1, weight: 2, port: 993, host: "imap.example.test" }],
    },
    {
      name: "example.test",
      type: "CAA",
      ttl: 300,
      data: [{ type: "CAA", flags: 128, tag: "issue", value: "ca.test" }],
    },
    cname("www.example.test", "example.test"),
    txt("big.example.test", ...Array.from({ length: 40 }, (_, index) => String(index).padEnd(200, "x"))),
    txt("huge.example.test", ...Array.from({ length: 40 }, (_, index) => String(index).padEnd(2_000, "x"))),
  ],
};

export async function started(options: Partial<DnsServerOptions> = {}): Promise<DnsServer> {
  const server = await startDnsServer({ port: 0, answer: serving(zone), ...options });
  onTestFinished(server.stop);
  return server;
}

/** Sends datagrams, and returns the first answer. */
export async function firstByUdp(
  { port }: DnsServer,
  ...datagrams: Buffer[]
): Promise<DecodedPacket & { bytes: number }> {
  const socket = createSocket("udp4");
  try {
    const answered = once(socket, "message");
    for (const bytes of datagrams) socket.send(bytes, port, "127.0.0.1");
    const [bytes] = (await answered) as [Buffer];
    return { ...decode(bytes), bytes: bytes.length };
  } finally {
    socket.close();
  }
}

/** Sends bytes over a TCP connection, ends its own side, and returns all answers. */
export async function byTcp({ port }: DnsServer, ...chunks: Buffer[]): Promise<DecodedPacket[]> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  for (const chunk of chunks) await new Promise((sent) => socket.write(chunk, sent));
  socket.end();
  let rest = Buffer.concat(await socket.toArray());
  const packets: DecodedPacket[] = [];
  while (rest.length > 0) {
    const end = 2 + rest.readUInt16BE(0);
    packets.push(decode(rest.subarray(2, end)));
    rest = rest.subarray(end);
  }
  return packets;
}

export const rcodeOf = ({ flags = 0 }: Packet): number => flags & 0xf;
export const query = (name: string, type: string, packet: Packet = {}): Buffer =>
  encode({ type: "query", id: 4711, questions: [{ name, type: type as "A" }], ...packet });
export const edns = (udpPayloadSize: number, ednsVersion = 0): Packet => ({
  additionals: [
    { type: "OPT", name: ".", udpPayloadSize, ednsVersion, extendedRcode: 0, flags: 0, flag_do: false, options: [] },
  ],
});
