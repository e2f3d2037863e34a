import { resolve } from "node:path";

import * as z from "zod";

import { MailEnvironment } from "../../shared/providers/mail.ts";
import { readSmtpUrl } from "../../shared/providers/smtp-url.ts";
import { StartProblem, reasonOf } from "./start-problem.ts";

/** How one starts the product: everything optional, from the environment. */
export type Settings = {
  port: number;
  dataDir: string;
  /** A DynamoDB endpoint to use instead of the embedded engine. */
  endpoint?: string;
  /** Where the zones of all accounts can be asked for, by UDP and TCP. */
  dnsPort: number;
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
  if (!(port <= 65_535)) throw new StartProblem(`${name} is "${text}"; it must be a number from 0 to 65535.`);
  return port;
}

/** Says now what would otherwise be heard of with the first mail. */
function checkMail(source: Record<string, string | undefined>): void {
  const { success, data, error } = MailEnvironment.safeParse(source);
  if (!success) throw new StartProblem(`Mail cannot go out as it is configured:\n${z.prettifyError(error)}`);
  const { MAIL_PROVIDER, SMTP_URL, SMTP_URL_SECRET_NAME } = data;
  if (MAIL_PROVIDER === "smtp" && SMTP_URL === undefined && SMTP_URL_SECRET_NAME === undefined) {
    throw new StartProblem("MAIL_PROVIDER is smtp: say by which server, such as SMTP_URL=smtp://127.0.0.1:1025.");
  }
  try {
    if (SMTP_URL !== undefined) readSmtpUrl(SMTP_URL);
  } catch (reason) {
    throw new StartProblem(`SMTP_URL cannot be read. ${reasonOf(reason)}`);
  }
}

/**
 * PORT (default 8080), DNS_PORT (default 5353), DATA_DIR (default `.data` in the project), AWS_ENDPOINT_URL_DYNAMODB, and with
 * commas CORS_ORIGINS and ALLOWED_HOSTS. Throws `StartProblem`.
 */
export function readSettings(source: Record<string, string | undefined>): Settings {
  const endpoint = source["AWS_ENDPOINT_URL_DYNAMODB"];
  checkMail(source);
  return {
    port: portOf("PORT", source["PORT"] ?? "8080"),
    dnsPort: portOf("DNS_PORT", source["DNS_PORT"] ?? "5353"),
    dataDir: resolve(source["DATA_DIR"] || resolve(import.meta.dirname, "../../.data")),
    ...(endpoint ? { endpoint } : {}),
    corsOrigins: listOf(source["CORS_ORIGINS"]),
    allowedHosts: listOf(source["ALLOWED_HOSTS"]),
  };
}
