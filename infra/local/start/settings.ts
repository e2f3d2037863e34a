import { resolve } from "node:path";

import { StartProblem, defaultDataDir } from "../command-line.ts";

/** The settings of a start. Each setting comes from an optional environment variable. */
export type Settings = {
  port: number;
  dataDir: string;
  /** The URL of a DynamoDB endpoint that replaces the embedded engine. */
  endpoint?: string;
  /** The UDP and TCP port of the DNS server for the zones of all accounts. */
  dnsPort: number;
  /** The port of the server for the websites and mail settings of domains. */
  webPort: number;
  corsOrigins: string[];
  allowedHosts: string[];
};

const listOf = (text = ""): string[] =>
  text
    .split(",")
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== "");

function portOf(name: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new StartProblem(`${name} is "${text}". It must be a number from 0 to 65535.`);
  return port;
}

/**
 * Reads PORT (default 8080), DNS_PORT (default 5353), WEB_PORT (default 8081), DATA_DIR (default `.data` in the
 * project), AWS_ENDPOINT_URL_DYNAMODB, and the comma-separated lists CORS_ORIGINS and ALLOWED_HOSTS. Throws
 * `StartProblem`.
 */
export function readSettings(source: Record<string, string | undefined>): Settings {
  const endpoint = source["AWS_ENDPOINT_URL_DYNAMODB"];
  return {
    port: portOf("PORT", source["PORT"] ?? "8080"),
    dnsPort: portOf("DNS_PORT", source["DNS_PORT"] ?? "5353"),
    webPort: portOf("WEB_PORT", source["WEB_PORT"] ?? "8081"),
    dataDir: resolve(source["DATA_DIR"] || defaultDataDir),
    ...(endpoint ? { endpoint } : {}),
    corsOrigins: listOf(source["CORS_ORIGINS"]),
    allowedHosts: listOf(source["ALLOWED_HOSTS"]),
  };
}
