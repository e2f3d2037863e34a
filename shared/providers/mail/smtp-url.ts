import { isIP } from "node:net";

import * as z from "zod";

/** An SMTP server (RFC 5321), how its connection is encrypted, and how to log in there. */
export type SmtpServer = {
  host: string;
  port: number;
  /**
   * `implicit`: TLS from the start (RFC 8314). `required`: STARTTLS, or no mail is sent (RFC 3207). `off`: never TLS.
   */
  tls: "implicit" | "required" | "off";
  login?: { user: string; password: string };
};

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

const ports = { "smtp:": 587, "smtps:": 465 } as const;

const Tls = z.enum(["required", "off"]).nullable();

/**
 * Reads `smtp://user:password@host:port` (default port 587) or `smtps://…` (465).
 * - `smtp:` means that the connection must change to TLS by STARTTLS before mail is sent. If the server is on this
 *   machine, `smtp:` uses no TLS. `?tls=off` and `?tls=required` replace this rule.
 * - Throws for any other text. The error has no part of the text, because the text can have a password.
 */
export function readSmtpUrl(text: string): SmtpServer {
  const invalid = new Error("The URL is not of the form smtp://user:password@host:port or smtps://….");
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = parseUrl(text) ?? {};
  if (protocol !== "smtp:" && protocol !== "smtps:") throw invalid;
  const host = (hostname ?? "").replaceAll(/^\[|\]$/g, "").toLowerCase();
  const given = Tls.safeParse(searchParams?.get("tls") ?? null);
  const hasExtra = [...(searchParams?.keys() ?? [])].some((name) => name !== "tls") || hash !== "";
  const isSecure = protocol === "smtps:";
  if (host === "" || !given.success || hasExtra || !["", "/"].includes(pathname ?? "")) throw invalid;
  if (isSecure && given.data === "off") throw invalid;
  const defaultTls = isLoopback(host) ? "off" : "required";
  const tls = isSecure ? "implicit" : (given.data ?? defaultTls);
  const login = { user: decodeURIComponent(username ?? ""), password: decodeURIComponent(password ?? "") };
  const server = { host, port: port ? Number(port) : ports[protocol], tls } as const;
  return login.user === "" ? server : { ...server, login };
}

const parseUrl = (text: string): URL | undefined => URL.parse(text.trim()) ?? undefined;
