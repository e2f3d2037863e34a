import { isIPv4, isIPv6 } from "node:net";

import ipaddr from "ipaddr.js";

import { parseIpv6 } from "../core/ip.ts";
import { quoteText } from "../core/text.ts";
import { escaped, unescaped } from "./character-string.ts";
import { spelled } from "./owners.ts";

/** A parameter of an SVCB or HTTPS record, with its value in wire format. */
type SvcParam = { key: number; value: Buffer };

type Read = { value: Buffer } | { fault: string };

/** The parameters of RFC 9460 §14.3.2, RFC 9461 and RFC 9540, each at the index of its number. */
const keyNames = [
  "mandatory",
  "alpn",
  "no-default-alpn",
  "port",
  "ipv4hint",
  "ech",
  "ipv6hint",
  "dohpath",
  "ohttp",
] as const;
type KeyName = (typeof keyNames)[number];

const keyOf = (name: KeyName): number => keyNames.indexOf(name);
const nameOfKey = (key: number): string => keyNames[key] ?? `key${key}`;

/** 65535 is reserved for "invalid key". */
const largestKey = 65_534;

function readKey(name: string): { key: number } | { fault: string } {
  const known = keyNames.findIndex((one) => one === name);
  if (known >= 0) return { key: known };
  const key = /^key(?:0|[1-9]\d{0,4})$/.test(name) ? Number(name.slice("key".length)) : undefined;
  if (key === undefined || key > largestKey) {
    return { fault: `${quoteText(name)} is not a parameter. Write one of ${keyNames.join(", ")}, or key9 to key65534` };
  }
  const registered = keyNames[key];
  return registered === undefined ? { key } : { fault: `Write ${registered} instead of ${name}` };
}

/** Splits a list at its commas. A comma or a backslash inside an item has a backslash before it (RFC 9460 §A.1). */
function listItems(bytes: Buffer): Buffer[] {
  // Latin-1 has one character for each byte.
  const pieces = bytes.toString("latin1").match(/\\[^]|[^\\]/g) ?? [];
  const items = [""];
  for (const piece of pieces) {
    if (piece === ",") items.push("");
    else items.push(`${items.pop()}${piece.replace(/^\\/, "")}`);
  }
  return items.map((item) => Buffer.from(item, "latin1"));
}

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);

/** The wire form of a list: the bytes that `read` makes of each item. `fault` explains an invalid item. */
function joinItems(bytes: Buffer, read: (item: string) => Buffer | undefined, fault: (item: string) => string): Read {
  const values: Buffer[] = [];
  for (const item of listItems(bytes).map(String)) {
    const value = read(item);
    if (!value) return { fault: fault(quoteText(item)) };
    values.push(value);
  }
  return { value: Buffer.concat(values) };
}

function readMandatory(bytes: Buffer): Read {
  const keys: number[] = [];
  for (const name of listItems(bytes).map(String)) {
    const read = readKey(name);
    if ("fault" in read) return read;
    if (read.key === keyOf("mandatory")) return { fault: "mandatory cannot name itself" };
    if (keys.includes(read.key)) return { fault: `mandatory names ${name} twice` };
    keys.push(read.key);
  }
  return { value: Buffer.concat(keys.toSorted((a, b) => a - b).map(uint16)) };
}

function readAlpn(bytes: Buffer): Read {
  const ids = listItems(bytes);
  if (ids.some(({ length }) => length === 0 || length > 255)) {
    return { fault: "Each protocol of alpn must have 1 to 255 bytes, such as h2" };
  }
  return { value: Buffer.concat(ids.flatMap((id) => [Buffer.from([id.length]), id])) };
}

/** Reads a list of ECH configurations in base64. The list begins with its length in two bytes (RFC 9849 §4). */
function readEch(bytes: Buffer): Read {
  const text = String(bytes);
  const value = Buffer.from(text, "base64");
  const isWhole = value.toString("base64") === text && value.length > 2 && value.readUInt16BE() === value.length - 2;
  return isWhole ? { value } : { fault: "The value of ech must be a whole list of ECH configurations in base64" };
}

/** Whether an expression of a URI template, such as `?dns`, has the variable `dns` (RFC 6570 §2.2, §2.4). */
const hasDnsVariable = (expression: string): boolean =>
  expression
    .replace(/^[+#./;?&]/, "")
    .split(",")
    .some((variable) => variable === "dns");

/** Reads a relative URI template with the variable `dns` (RFC 9461 §5). */
function readPath(bytes: Buffer): Read {
  const text = String(bytes);
  const expressions = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, expression = ""]) => expression);
  const isTemplate = /^\/[^\s"<>\\^`|]*$/.test(text) && expressions.some(hasDnsVariable);
  return isTemplate ? { value: bytes } : { fault: "The value of dohpath must be a path such as /dns-query{?dns}" };
}

/**
 * Makes the reader for a parameter that has no value. The reader always gives a fault, because it is called only for a
 * parameter that is written with `=`.
 */
const refusingReader = (name: KeyName) => (): Read => ({ fault: `${name} has no value. Write it alone` });

/** The readers of the values, from their bytes to their wire form. */
const readers: Record<KeyName, (bytes: Buffer) => Read> = {
  mandatory: readMandatory,
  alpn: readAlpn,
  "no-default-alpn": refusingReader("no-default-alpn"),
  port: (bytes) => {
    const text = String(bytes);
    const isPort = /^\d{1,5}$/.test(text) && Number(text) <= 0xffff;
    return isPort ? { value: uint16(Number(text)) } : { fault: "The value of port must be a number from 0 to 65535" };
  },
  ipv4hint: (bytes) =>
    joinItems(
      bytes,
      (item) => (isIPv4(item) ? Buffer.from(item.split(".").map(Number)) : undefined),
      (item) => `The values of ipv4hint must be IPv4 addresses. ${item} is not one`,
    ),
  ech: readEch,
  ipv6hint: (bytes) =>
    joinItems(
      bytes,
      (item) => (isIPv6(item) && !item.includes("%") ? Buffer.from(parseIpv6(item).toByteArray()) : undefined),
      (item) => `The values of ipv6hint must be IPv6 addresses. ${item} is not one`,
    ),
  dohpath: readPath,
  ohttp: refusingReader("ohttp"),
};

const isWithoutValue = (name: string): boolean => name === "no-default-alpn" || name === "ohttp";

/** One parameter as it is written: `name`, `name=value` or `name="value"`, with the escapes of a zone file. */
const written = String.raw`(?<name>[^\s="]*)(?:(?<equals>=)(?:"(?<quoted>(?:[^"\\]|\\[^])*)"|(?<plain>(?:[^\s"();\\]|\\[^])*)))?`;
const oneParameter = new RegExp(`${written}(?=\\s|$)`, "uy");

function readParam({ name = "", equals, quoted, plain = "" }: Record<string, string | undefined>) {
  const read = readKey(name);
  if ("fault" in read) return read;
  const { key } = read;
  const known = keyNames[key];
  const bytes = unescaped(quoted ?? plain);
  if (!bytes) return { fault: `The value of ${name} has an escape past \\255` };
  if (known === undefined) return { key, value: bytes };
  if (equals === undefined) {
    return isWithoutValue(known) ? { key, value: bytes } : { fault: `${name} needs a value: ${name}=…` };
  }
  const value = readers[known](bytes);
  return "fault" in value ? value : { key, value: value.value };
}

/** Explains why these parameters do not fit together; undefined if they fit (RFC 9460 §7.1.1, §8). */
function togetherFault(params: readonly SvcParam[]): string | undefined {
  const keys = new Set(params.map(({ key }) => key));
  if (keys.has(keyOf("no-default-alpn")) && !keys.has(keyOf("alpn"))) return "no-default-alpn needs alpn beside it";
  const mandatory = params.find(({ key }) => key === keyOf("mandatory"))?.value ?? Buffer.alloc(0);
  const missing = uint16s(mandatory).find((key) => !keys.has(key));
  return missing === undefined ? undefined : `mandatory names ${nameOfKey(missing)}, which is missing`;
}

const uint16s = (bytes: Buffer): number[] =>
  Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(2 * index));

/**
 * Reads the parameters of an SVCB or HTTPS record in presentation format (RFC 9460 §2.1), in any order. The result is
 * ordered by the keys, as the wire format requires. A fault is a text for people without its final period.
 */
export function readSvcParams(text: string): { params: SvcParam[] } | { fault: string } {
  if (!text.isWellFormed()) return { fault: "The value has half of a surrogate pair, which is not a character" };
  const params: SvcParam[] = [];
  const trimmed = text.trim();
  let at = 0;
  while (at < trimmed.length) {
    oneParameter.lastIndex = at;
    const found = oneParameter.exec(trimmed);
    if (!found || found[0] === "") {
      const [rest = ""] = trimmed.slice(at).split(/\s/);
      return { fault: `${quoteText(rest)} cannot be read. Write name=value, or name="value" with quotes` };
    }
    const param = readParam(found.groups ?? {});
    if ("fault" in param) return param;
    if (params.some(({ key }) => key === param.key)) return { fault: `${nameOfKey(param.key)} is given twice` };
    params.push(param);
    const unread = trimmed.slice(at + found[0].length);
    at = trimmed.length - unread.trimStart().length;
  }
  const fault = togetherFault(params);
  return fault === undefined ? { params: params.toSorted((a, b) => a.key - b.key) } : { fault };
}

/** The wire form of parameters that are ordered by their keys (RFC 9460 §2.2). */
export const svcParamsWire = (params: readonly SvcParam[]): Buffer =>
  Buffer.concat(params.flatMap(({ key, value }) => [uint16(key), uint16(value.length), value]));

/**
 * The presentation format of parameters, in ASCII. A value is in quotes unless it has only letters, digits and
 * `._:+/=-`.
 */
export const svcParamsText = (params: readonly SvcParam[]): string =>
  params.map(({ key, value }) => paramText(nameOfKey(key), valueText(key, value))).join(" ");

function paramText(name: string, value: Buffer): string {
  if (value.length === 0) return name;
  const text = escaped(value);
  return /^[\w.:+/=-]+$/.test(text) ? `${name}=${text}` : `${name}="${text}"`;
}

/** The value of a parameter as text, before the escapes of a character-string are added. */
function valueText(key: number, value: Buffer): Buffer {
  switch (keyNames[key]) {
    case "mandatory":
      return Buffer.from(uint16s(value).map(nameOfKey).join(","));
    case "alpn":
      return alpnText(value);
    case "port":
      return Buffer.from(String(value.readUInt16BE()));
    case "ipv4hint":
      return Buffer.from(
        chunksOf(value, 4)
          .map((one) => one.join("."))
          .join(","),
      );
    case "ech":
      return Buffer.from(value.toString("base64"));
    case "ipv6hint":
      return Buffer.from(
        chunksOf(value, 16)
          .map((one) => new ipaddr.IPv6([...one]).toRFC5952String())
          .join(","),
      );
    default:
      return value;
  }
}

const chunksOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: bytes.length / size }, (_, index) => bytes.subarray(index * size, (index + 1) * size));

function alpnText(value: Buffer): Buffer {
  const ids: string[] = [];
  for (let at = 0; at < value.length; at += 1 + value.readUInt8(at)) {
    ids.push(value.toString("latin1", at + 1, at + 1 + value.readUInt8(at)));
  }
  return Buffer.from(ids.map((id) => id.replaceAll(/[\\,]/g, "\\$&")).join(","), "latin1");
}

/** The parameters in wire format; undefined if the bytes end too early. */
function paramsOfWire(bytes: Buffer): SvcParam[] | undefined {
  const params: SvcParam[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < 4) return undefined;
    const end = at + 4 + bytes.readUInt16BE(at + 2);
    if (end > bytes.length) return undefined;
    params.push({ key: bytes.readUInt16BE(at), value: bytes.subarray(at + 4, end) });
    at = end;
  }
  return params;
}

/**
 * Reads the data of an SVCB or HTTPS record in wire format (RFC 9460 §2.2). `value` is the target and the parameters in
 * presentation format, with the escapes of a zone file. Undefined if the data cannot be read.
 */
export function readServiceWire(data: Buffer): { priority: number; value: string } | undefined {
  const labels: Buffer[] = [];
  let at = 2;
  for (; at < data.length && data.readUInt8(at) !== 0; at += 1 + data.readUInt8(at)) {
    labels.push(data.subarray(at + 1, at + 1 + data.readUInt8(at)));
  }
  if (at >= data.length) return undefined;
  const params = paramsOfWire(data.subarray(at + 1));
  if (!params) return undefined;
  try {
    const target = labels.length === 0 ? "." : spelled({ labels });
    return { priority: data.readUInt16BE(0), value: `${target} ${svcParamsText(params)}`.trim() };
  } catch {
    // A value is shorter than its parameter needs.
    return undefined;
  }
}
