import * as z from "zod";

import { runtime } from "../http/runtime.ts";

type AllowedOrigins = {
  /** Origins such as `https://app.example.com`. */
  origins: readonly string[];
  /** For development: also allows every port of this machine, and plain HTTP to this machine. */
  allowLoopback: boolean;
};

const longestUrl = 1_000;

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);

/**
 * Explains why a payer cannot be led to a URL, in one sentence without its period; undefined if the URL is allowed. An
 * allowed URL is an absolute https URL of an allowed origin, without credentials or a fragment, and has at most 1,000
 * characters.
 */
export function returnUrlFault(url: string, { origins, allowLoopback }: AllowedOrigins): string | undefined {
  if (url.length > longestUrl) return `The URL is longer than ${longestUrl} characters`;
  if (!/^[!-[\]-~]+$/.test(url) || !URL.canParse(url)) {
    return "This is not a URL: write it in full, in ASCII and without a backslash";
  }
  const { protocol, hostname, username, password, origin } = new URL(url);
  const isOwnMachine = allowLoopback && isLoopback(hostname);
  if (protocol !== "https:" && !(isOwnMachine && protocol === "http:")) return "The URL must be https";
  if (username !== "" || password !== "") return "The URL must not have credentials";
  if (url.includes("#")) return "The URL must not have a fragment";
  if (isOwnMachine || origins.includes(origin)) return undefined;
  const allowed = [...origins, ...(allowLoopback ? ["this machine, such as http://localhost:3000"] : [])];
  if (allowed.length === 0)
    return "No origin is allowed here. The operator allows origins by the setting returnOrigins";
  return `The origin ${origin} is not allowed. Allowed: ${allowed.join(", ")}`;
}

function allowedOrigins(): AllowedOrigins {
  const { RETURN_ORIGINS, RETURN_LOOPBACK } = runtime().env;
  return {
    origins: RETURN_ORIGINS.split(",").filter((origin) => origin !== ""),
    allowLoopback: RETURN_LOOPBACK === "allow",
  };
}

export const ReturnUrl = z
  .string()
  .superRefine((url, context) => {
    const fault = returnUrlFault(url, allowedOrigins());
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  })
  .meta({
    description:
      "Your page to which the payer is led after the checkout: an https URL of an origin that the operator has allowed, without credentials and fragment. The page gets `checkout_token` and `status` in its query.",
    examples: ["https://app.example.com/wallet"],
  });

/** The return URL to which the result page leads the payer: with the token of the checkout and the status. */
export function returnUrlWith(url: string, checkoutToken: string, status: string): string {
  const address = new URL(url);
  address.searchParams.set("checkout_token", checkoutToken);
  address.searchParams.set("status", status);
  return address.href;
}
