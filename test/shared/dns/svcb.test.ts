import fc from "fast-check";
import { expect, test } from "vitest";

import { readSvcParams, svcParamsText, svcParamsWire } from "../../../shared/dns/svcb.ts";

function read(text: string) {
  const found = readSvcParams(text);
  if ("fault" in found) throw new Error(found.fault);
  return found.params;
}

// The vectors of RFC 9460, appendix D.2, without priority and target.
test.each([
  ["", "", ""],
  ["port=53", "000300020035", "port=53"],
  ["key667=hello", "029b000568656c6c6f", "key667=hello"],
  ['key667="hello\\210qoo"', "029b000968656c6c6fd2716f6f", 'key667="hello\\210qoo"'],
  [
    'ipv6hint="2001:db8::1,2001:db8::53:1"',
    "0006002020010db800000000000000000000000120010db8000000000000000000530001",
    'ipv6hint="2001:db8::1,2001:db8::53:1"',
  ],
  [
    'ipv6hint="2001:db8:122:344::192.0.2.33"',
    "0006001020010db80122034400000000c0000221",
    "ipv6hint=2001:db8:122:344::c000:221",
  ],
  [
    "alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
    "0000000400010004000100090268320568332d313900040004c0000201",
    'mandatory="alpn,ipv4hint" alpn="h2,h3-19" ipv4hint=192.0.2.1',
  ],
  ['alpn="f\\\\\\\\oo\\\\,bar,h2"', "0001000c08665c6f6f2c626172026832", 'alpn="f\\\\\\\\oo\\\\,bar,h2"'],
  ["alpn=f\\\\\\092oo\\092,bar,h2", "0001000c08665c6f6f2c626172026832", 'alpn="f\\\\\\\\oo\\\\,bar,h2"'],
  // RFC 9461 and RFC 9540.
  [
    'alpn=h2 ohttp dohpath="/dns-query{?dns}"',
    "00010003026832000700102f646e732d71756572797b3f646e737d00080000",
    'alpn=h2 dohpath="/dns-query{?dns}" ohttp',
  ],
  [
    "  no-default-alpn\talpn=h3 ech=AAT+DQAA ",
    "0001000302683300020000000500060004fe0d0000",
    "alpn=h3 no-default-alpn ech=AAT+DQAA",
  ],
])("the parameters %s are %s on the wire, and %s in their normal form", (text, wire, normal) => {
  expect([svcParamsWire(read(text)).toString("hex"), svcParamsText(read(text))]).toEqual([wire, normal]);
});

test.each([
  // RFC 9460, appendix D.3.
  ["key123=abc key123=def", "key123 is given twice"],
  ["mandatory", "mandatory needs a value: mandatory=…"],
  ["alpn", "alpn needs a value: alpn=…"],
  ["port", "port needs a value: port=…"],
  ["ipv4hint", "ipv4hint needs a value: ipv4hint=…"],
  ["ipv6hint", "ipv6hint needs a value: ipv6hint=…"],
  ["no-default-alpn=abc", "no-default-alpn has no value. Write it alone"],
  ["mandatory=key123", "mandatory names key123, which is missing"],
  ["mandatory=mandatory", "mandatory cannot name itself"],
  ["mandatory=key123,key123 key123=abc", "mandatory names key123 twice"],
  // Others.
  ["no-default-alpn", "no-default-alpn needs alpn beside it"],
  ["alpn=h2,,h3", "Each protocol of alpn must have 1 to 255 bytes, such as h2"],
  [`alpn=${"x".repeat(256)}`, "Each protocol of alpn must have 1 to 255 bytes, such as h2"],
  ["port=65536", "The value of port must be a number from 0 to 65535"],
  ["port=0x50", "The value of port must be a number from 0 to 65535"],
  ["ipv4hint=192.0.2.1,192.0.2", 'The values of ipv4hint must be IPv4 addresses. "192.0.2" is not one'],
  ["ipv4hint=2001:db8::1", 'The values of ipv4hint must be IPv4 addresses. "2001:db8::1" is not one'],
  ["ipv6hint=fe80::1%eth0", 'The values of ipv6hint must be IPv6 addresses. "fe80::1%eth0" is not one'],
  ["ech=AAT+DQA", "The value of ech must be a whole list of ECH configurations in base64"],
  ["ech=AAX+DQAA", "The value of ech must be a whole list of ECH configurations in base64"],
  ["dohpath=dns-query", "The value of dohpath must be a path such as /dns-query{?dns}"],
  ["key1=h2", "Write alpn instead of key1"],
  ["key007=x", '"key007" is not a parameter.'],
  ["key65535=x", '"key65535" is not a parameter.'],
  ["ALPN=h2", '"ALPN" is not a parameter.'],
  ["=h2", '"" is not a parameter.'],
  ['alpn="h2', '"alpn="h2" cannot be read. Write name=value, or name="value" with quotes'],
  ['alpn="h2"h3', '"alpn="h2"h3" cannot be read.'],
  ["alpn = h2", "alpn needs a value: alpn=…"],
  ["key9=(a)", '"key9=(a)" cannot be read.'],
  ["key9=a\\", '"key9=a\\" cannot be read.'],
  ["key9=\\256", "The value of key9 has an escape past \\255"],
])("`readSvcParams` refuses %s: %s", (text, message) => {
  expect(readSvcParams(text)).toMatchObject({ fault: expect.stringContaining(message) });
});

/** Random parameters with generic keys, in wire format. */
const params = fc
  .uniqueArray(
    fc.record({
      key: fc.integer({ min: 9, max: 65_534 }),
      value: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    }),
    { selector: ({ key }) => key, maxLength: 5 },
  )
  .map((all) => all.toSorted((one, other) => one.key - other.key));
const protocols = fc.array(fc.uint8Array({ minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 4 });

test("parameters with any bytes can be read back from their text, which is ASCII", () => {
  fc.assert(
    fc.property(params, protocols, (others, ids) => {
      const alpn = Buffer.concat(ids.flatMap((id) => [Buffer.from([id.length]), id]));
      const all = [{ key: 1, value: alpn }, ...others];
      const text = svcParamsText(all);
      expect(text).toMatch(/^[ -~]*$/);
      expect(svcParamsWire(read(text)).toString("hex")).toBe(svcParamsWire(all).toString("hex"));
    }),
  );
});

test("`readSvcParams` never throws, and reads the normal form of parameters as the same parameters", () => {
  const piece = fc.constantFrom(
    "alpn",
    "=",
    '"',
    "h2",
    ",",
    "\\",
    " ",
    "port",
    "53",
    "key9",
    "é",
    "\\032",
    "(",
    ";",
    "mandatory",
    "ipv4hint",
    "1.2.3.4",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
  );
  fc.assert(
    fc.property(text, (given) => {
      const found = readSvcParams(given);
      const again = "params" in found ? readSvcParams(svcParamsText(found.params)) : found;
      expect(again).toEqual(found);
    }),
    { numRuns: 500 },
  );
});
