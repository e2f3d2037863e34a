import { isIP } from "node:net";

import * as z from "zod";

const form = /^(?<address>[0-9.]+|\[[0-9a-f:.]+\]):(?<port>\d{1,5})$/i;

/** The IP address and the port of a server. */
export type Endpoint = { address: string; port: number };

/** Parses `192.0.2.1:25` or `[2001:db8::1]:25`; undefined for any other form. */
export function readEndpoint(text: string): Endpoint | undefined {
  const { address = "", port = "" } = form.exec(text)?.groups ?? {};
  const plain = address.replace(/^\[|\]$/g, "");
  const isAddress = isIP(plain) === (address.startsWith("[") ? 6 : 4);
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535 ? { address: plain, port: Number(port) } : undefined;
}

/** Writes an endpoint in the form that `readEndpoint` parses. */
export const endpointText = ({ address, port }: Endpoint): string =>
  address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;

/** The schema of an endpoint in a setting, in the form of `readEndpoint`. */
export const Endpoint = z.string().transform((text, context): Endpoint => {
  const endpoint = readEndpoint(text);
  if (endpoint) return endpoint;
  context.addIssue({ code: "custom", message: "Write an IP address with a port, such as 10.0.0.5:25 or [fd00::5]:25" });
  return z.NEVER;
});
