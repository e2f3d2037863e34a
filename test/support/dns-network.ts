import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

import { AUTHORITATIVE_ANSWER, decode, encode, type Answer, type DecodedPacket, type Packet } from "dns-packet";
import { onTestFinished } from "vitest";

import { authoritative, type DnsZone } from "../../infra/local/dns/authority.ts";
import type { ServedRRset } from "../../infra/local/dns/records-wire.ts";
import type { DnsAnswer } from "../../infra/local/dns/respond.ts";
import { startDnsServer } from "../../infra/local/dns/server.ts";
import type { Endpoint } from "../../shared/core/endpoint.ts";
import { openResolver, type ResolverOptions } from "../../shared/dns/resolver.ts";
import type { RRset } from "../../shared/dns/rrset.ts";
import { isWithin } from "../../shared/dns/wire-name.ts";

/** A nameserver on loopback. In the network it has a public address. */
type Nameserver = {
  address: string;
  endpoint: Endpoint;
  /** The questions so far, as `name type`, with ` tcp` at the end if they came by TCP. */
  asked: string[];
};

/** The answers of a misbehaving server. Without `tcp`, the server accepts connections and is silent. */
export type Conduct = {
  udp?: (query: DecodedPacket, send: (bytes: Buffer) => void) => void;
  tcp?: (query: DecodedPacket, socket: Socket) => void;
};

export const a = (name: string, ...addresses: string[]): RRset => ({
  name,
  type: "A",
  ttl: 300,
  data: addresses.map((address) => ({ type: "A", address })),
});
export const ptr = (name: string, ...hosts: string[]): ServedRRset => ({
  name,
  type: "PTR",
  ttl: 300,
  data: hosts.map((host) => ({ type: "PTR", host })),
});
export const ns = (name: string, ...hosts: string[]): RRset => ({
  name,
  type: "NS",
  ttl: 3_600,
  data: hosts.map((host) => ({ type: "NS", host })),
});
export const cname = (name: string, host: string): RRset => ({
  name,
  type: "CNAME",
  ttl: 300,
  data: [{ type: "CNAME", host }],
});
export const txt = (name: string, ...texts: string[]): RRset => ({
  name,
  type: "TXT",
  ttl: 300,
  data: texts.map((text) => ({ type: "TXT", text })),
});

/** Answers with authority for these zones. The closest zone answers. */
export const serving = (...zones: DnsZone[]): DnsAnswer =>
  authoritative(async (name) =>
    zones
      .filter((zone) => isWithin(name, zone.name))
      .toSorted((one, other) => other.name.length - one.name.length)
      .at(0),
  );

/** A response to a query, with authority unless `flags` says otherwise. */
export const responseTo = (query: DecodedPacket, packet: Packet = {}): Buffer =>
  encode({ type: "response", id: query.id, flags: AUTHORITATIVE_ANSWER, questions: query.questions, ...packet });

const questionOf = ({ questions }: DecodedPacket): string => {
  const [{ name, type } = { name: "", type: "" }] = questions ?? [];
  return `${name.toLowerCase()} ${type}`;
};

/** Listens by UDP and TCP on one port until the test ends, and answers as `conduct` says. */
async function listenAsLiked(conduct: Conduct, asked: string[]): Promise<number> {
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", (bytes: Buffer) => {
      const query = decode(bytes.subarray(2));
      asked.push(`${questionOf(query)} tcp`);
      conduct.tcp?.(query, socket);
    });
  });
  let udp: UdpSocket;
  // Tries ports until one is free for both.
  for (;;) {
    await once(tcp.listen(0, "127.0.0.1"), "listening");
    udp = createSocket("udp4");
    try {
      await once(udp.bind((tcp.address() as AddressInfo).port, "127.0.0.1"), "listening");
      break;
    } catch {
      udp.close();
      await once(tcp.close(), "close");
    }
  }
  udp.on("message", (bytes, { port, address }) => {
    const query = decode(bytes);
    asked.push(questionOf(query));
    conduct.udp?.(query, (reply) => udp.send(reply, port, address));
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    udp.close();
    await once(tcp.close(), "close");
  });
  return (tcp.address() as AddressInfo).port;
}

export type DnsNetwork = {
  /** Adds a server that answers correctly. */
  add: (answer: DnsAnswer) => Promise<Nameserver>;
  /** Adds a server that answers as `conduct` says. */
  addAsLiked: (conduct: Conduct) => Promise<Nameserver>;
  /** The addresses to which the resolver wanted to send, in order. */
  routed: string[];
  /** The endpoint of an address. No server listens at addresses that were not given out. */
  route: (address: string) => Endpoint;
};

/** Makes a network with nameservers at 8.8.0.1, 8.8.0.2 and so on, all on loopback until the test ends. */
export function dnsNetwork(): DnsNetwork {
  const servers = new Map<string, Nameserver>();
  const routed: string[] = [];
  const place = (port: number, asked: string[]): Nameserver => {
    const address = `8.8.0.${servers.size + 1}`;
    const server = { address, endpoint: { address: "127.0.0.1", port }, asked };
    servers.set(address, server);
    return server;
  };
  return {
    add: async (answer) => {
      const asked: string[] = [];
      const server = await startDnsServer({
        port: 0,
        answer: (question) => {
          asked.push(`${question.name} ${question.type}`);
          return answer(question);
        },
      });
      onTestFinished(server.stop);
      return place(server.port, asked);
    },
    addAsLiked: async (conduct) => {
      const asked: string[] = [];
      return place(await listenAsLiked(conduct, asked), asked);
    },
    routed,
    route: (address) => {
      routed.push(address);
      return servers.get(address)?.endpoint ?? { address: "127.0.0.1", port: 1 };
    },
  };
}

export type Internet = DnsNetwork & {
  root: Nameserver;
  /** The server of the top-level domain `test`. */
  registry: Nameserver;
  /** The records in the registry. A test can change them at any time. */
  registered: ServedRRset[];
  open: (options?: ResolverOptions) => ReturnType<typeof openResolver>;
};

/** Makes a network with the root, and with `test` and its registered records. */
export async function internet(...registered: ServedRRset[]): Promise<Internet> {
  const network = dnsNetwork();
  const rrsets = [ns("test", "a.nic.test"), ...registered];
  const registry = await network.add((question) => serving({ name: "test", rrsets })(question));
  const glue = a("a.nic.test", registry.address);
  rrsets.push(glue);
  const root = await network.add(serving({ name: "", rrsets: [ns("test", "a.nic.test"), glue] }));
  return {
    ...network,
    root,
    registry,
    registered: rrsets,
    open: (options = {}) =>
      openResolver({
        roots: [root.endpoint],
        route: network.route,
        tryTimeoutMs: 2_000,
        timeoutMs: 10_000,
        ...options,
      }),
  };
}

/** The delegation of a name to the servers `ns1.<name>`, `ns2.<name>` and so on, with their addresses as glue. */
export const delegated = (name: string, ...servers: { address: string }[]): RRset[] => [
  ns(name, ...servers.map((_, index) => `ns${index + 1}.${name}`)),
  ...servers.map(({ address }, index) => ({ ...a(`ns${index + 1}.${name}`, address), ...typeOf(address) })),
];

const typeOf = (address: string): Pick<RRset, "type" | "data"> => {
  const type = address.includes(":") ? ("AAAA" as const) : ("A" as const);
  return { type, data: [{ type, address }] };
};

/** A record of class IN in the form of `dns-packet`. */
export const record = (name: string, type: Answer["type"], data: unknown, ttl = 300): Answer =>
  ({ name, type, ttl, class: "IN", data }) as Answer;
