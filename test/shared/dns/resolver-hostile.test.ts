import type { DecodedPacket } from "dns-packet";
import fc from "fast-check";
import { expect, test } from "vitest";

import { framed } from "../../../shared/dns/transport.ts";
import { type Conduct, delegated, internet, record, responseTo, serving, txt } from "../../support/dns-network.ts";
import { bad, cutOff, name, replying, right, silent, sound } from "./bad-nameservers.ts";

test.each(bad)("the resolver asks the next nameserver if one %s", async (_is, _reason, conduct) => {
  const net = await internet();
  const servers = [await net.addAsLiked(conduct), await net.add(sound)] as const;
  net.registered.push(...delegated(name, ...servers));
  const answer = await net.open({ tryTimeoutMs: 250 }).resolve(name, "A");
  expect(answer).toMatchObject({ status: "found", records: [{ address: "192.0.2.1" }] });
  expect(servers[0].asked.length).toBeGreaterThan(0);
});

test("the resolver answers `unknown` with the reason if all nameservers have the same fault", async () => {
  const reasons = bad.map(async ([is, , conduct]) => {
    const net = await internet();
    net.registered.push(...delegated(name, await net.addAsLiked(conduct)));
    const answer = await net.open({ tryTimeoutMs: 250 }).resolve(name, "A");
    return [is, answer.status === "unknown" ? answer.reason : answer.status];
  });
  expect(await Promise.all(reasons)).toEqual(bad.map(([is, reason]) => [is, reason]));
});

test("the resolver waits for the right answer if wrong answers come first", async () => {
  const net = await internet();
  const isCutOff = (bytes: Buffer): boolean => bytes.length > 2 && (bytes.readUInt8(2) & 2) !== 0;
  const server = await net.addAsLiked({
    udp: (query, send) => {
      // After an answer that is cut off, the resolver would ask by TCP.
      const sendWhole = (bytes: Buffer): void => {
        if (!isCutOff(bytes)) send(bytes);
      };
      for (const [, reason, { udp }] of bad) if (reason === silent) udp?.(query, sendWhole);
      send(right(query));
    },
  });
  net.registered.push(...delegated(name, server));
  expect(await net.open().resolve(name, "A")).toMatchObject({ records: [{ address: "192.0.2.1" }] });
  expect(server.asked.length).toBe(1);
});

test("the resolver asks a silent or failing nameserver once more, but not a nameserver that refuses", async () => {
  const net = await internet();
  const conducts: Conduct[] = [{}, { udp: replying(() => ({ flags: 2 })) }, { udp: replying(() => ({ flags: 5 })) }];
  const servers = await Promise.all(conducts.map(net.addAsLiked));
  net.registered.push(...delegated(name, ...servers));
  await net.open({ tryTimeoutMs: 150 }).resolve(name, "A");
  expect(servers.map(({ asked }) => asked.length)).toEqual([2, 2, 1]);
});

test("the resolver leaves out unreadable records, and returns the readable records", async () => {
  const net = await internet();
  const server = await net.addAsLiked({
    udp: replying(() => ({
      answers: [
        record(name, "MX", { preference: 1, exchange: "m\u00fcll.test" }),
        record(name, "MX", { preference: 2, exchange: "mx.test" }, 2 ** 31),
      ],
    })),
  });
  net.registered.push(...delegated(name, server));
  expect(await net.open().resolve(name, "MX")).toEqual({
    status: "found",
    records: [{ name, ttl: 0, type: "MX", priority: 2, host: "mx.test" }],
  });
});

test("the resolver survives random bytes as an answer, by UDP and by TCP", async () => {
  const net = await internet();
  let bytes: Uint8Array = Buffer.alloc(0);
  /** The header of a response, and then the random bytes. */
  const headed = (query: DecodedPacket): Buffer => Buffer.concat([responseTo(query).subarray(0, 12), bytes]);
  const server = await net.addAsLiked({
    udp: (query, send) => {
      send(Buffer.from(bytes));
      send(headed(query));
      send(cutOff(query));
    },
    tcp: (query, socket) => void socket.end(framed(headed(query))),
  });
  net.registered.push(...delegated(name, server));
  const resolver = net.open({ tryTimeoutMs: 500 });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), async (some) => {
      bytes = some;
      const { status } = await resolver.resolve(name, "TXT");
      expect(["found", "none", "absent", "unknown"]).toContain(status);
    }),
    { numRuns: 60 },
  );
});

test("the resolver survives random changes of an answer's bytes", async () => {
  const net = await internet();
  let change: [offset: number, value: number][] = [];
  const server = await net.addAsLiked({
    udp: (query, send) => {
      const bytes = responseTo(query, {
        answers: [
          record(name, "TXT", ["abc", "def"]),
          record(name, "CAA", { flags: 0, tag: "issue", value: "x" }),
          record(name, "SSHFP", { algorithm: 1, hash: 1, fingerprint: "00".repeat(20) }),
        ],
      });
      for (const [offset, value] of change) bytes.writeUInt8(value, 2 + (offset % (bytes.length - 2)));
      send(bytes);
      send(responseTo(query, { flags: 2 }));
    },
  });
  net.registered.push(...delegated(name, server));
  const resolver = net.open();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(500), fc.nat(255)), { maxLength: 4 }), async (some) => {
      change = some;
      const { status } = await resolver.resolve(name, "TXT");
      expect(["found", "none", "absent", "unknown"]).toContain(status);
    }),
    { numRuns: 100 },
  );
});

test("the resolver answers ten concurrent questions with long texts", async () => {
  const net = await internet();
  const server = await net.add(serving({ name, rrsets: [txt(name, "x".repeat(2_048), "y".repeat(2_048))] }));
  net.registered.push(...delegated(name, server));
  const resolver = net.open();
  const answers = await Promise.all(Array.from({ length: 10 }, () => resolver.resolve(name, "TXT")));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => "found"));
});
