/** A MIME entity (RFC 2045): its headers, unfolded and by lower-case name, and its body as it was sent. */
export type Entity = { headers: Map<string, string[]>; body: string };

/** Reads an entity. Throws if a header has no name. */
export function readEntity(raw: string): Entity {
  const end = raw.indexOf("\r\n\r\n");
  const headers = new Map<string, string[]>();
  const lines = raw.slice(0, end).replaceAll(/\r\n(?=[ \t])/g, "");
  for (const line of lines.split("\r\n")) {
    const [, name, value = ""] = /^([!-9;-~]+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a header: ${line}`);
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value]);
  }
  return { headers, body: raw.slice(end + 4) };
}

/** The one value of a header. Throws for none or several. */
export function headerOf({ headers }: Entity, name: string): string {
  const [value, ...more] = headers.get(name) ?? [];
  if (value === undefined || more.length > 0)
    throw new Error(`the header ${name} has ${headers.get(name)?.length ?? 0} values, and not one`);
  return value;
}

/** The parts of a multipart entity, in their order. */
export function partsOf(entity: Entity): Entity[] {
  const boundary = /boundary="([^"]+)"/.exec(headerOf(entity, "content-type"))?.[1] ?? "";
  const [, ...rest] = `\r\n${entity.body}`.split(`\r\n--${boundary}`);
  return rest.slice(0, -1).map((part) => readEntity(part.slice(2)));
}

const quotedPrintable = (text: string): Buffer =>
  Buffer.from(
    text
      .replaceAll("=\r\n", "")
      .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );

/** The decoded text of an entity that is not multipart. */
export function textOf(entity: Entity): string {
  const encoding = headerOf(entity, "content-transfer-encoding");
  if (encoding === "base64") return Buffer.from(entity.body, "base64").toString();
  return encoding === "quoted-printable" ? quotedPrintable(entity.body).toString() : entity.body;
}

/** A header's text with its encoded words (RFC 2047) decoded. */
export const wordsOf = (value: string): string =>
  value
    .replaceAll(/\?=\s+=\?/g, "?==?")
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === "b"
        ? Buffer.from(text, "base64").toString()
        : quotedPrintable(text.replaceAll("_", " ")).toString(),
    );
