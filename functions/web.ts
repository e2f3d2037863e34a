import type { APIGatewayProxyEventV2 } from "aws-lambda";

import type { Log } from "../shared/core/log.ts";
import { isInUse } from "../shared/domains/domain.ts";
import { mtaStsPolicy } from "../shared/domains/records/mta-sts.ts";
import { sitesOf, type Site } from "../shared/domains/site.ts";
import { internalHandler } from "../shared/http/internal.ts";
import { json, logUnexpected, type Response } from "../shared/http/response.ts";
import { readAddress } from "../shared/mail/mailboxes/local-part.ts";
import type { Table } from "../shared/table/table.ts";
import { addressIn, autoconfigXml, autodiscoverError, autodiscoverXml } from "../shared/web/client-settings.ts";

/** Matches a host name in lower case that has at least two labels. */
const hostForm = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/** A host name in lower case, without port and final dot; undefined for a text that is no host name. */
function readHost(text = ""): string | undefined {
  const host = text
    .toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/\.$/, "");
  return hostForm.test(host) ? host : undefined;
}

/**
 * The host that the client asked for. If a proxy of the deployment passes on this host in a header, WEB_HOST_HEADER has
 * the header's name in lower case. Set the variable only if all requests come through this proxy, because clients can
 * send any header.
 */
const askedHost = ({ headers }: APIGatewayProxyEventV2): string | undefined =>
  readHost(headers[process.env["WEB_HOST_HEADER"] ?? "host"]);

/** Whether this product answers at the host of a site. */
function isOffered({ domain, label }: Site): boolean {
  if (label === "" || label === "www") return domain.redirect_url !== null;
  return label !== "mta-sts" || domain.mta_sts_mode !== null;
}

/** The site of a host, if the site's domain is in use and this product answers there. Otherwise undefined. */
async function servedSite(table: Table, host: string | undefined): Promise<Site | undefined> {
  const sites = host === undefined ? [] : await sitesOf(table, host);
  return sites.find((site) => isInUse(site.domain) && isOffered(site));
}

/**
 * The path at which a TLS proxy asks whether the proxy may get a certificate for `?domain=`, as the `ask` of Caddy
 * does.
 */
const askPath = "/.well-known/tls-check";

const plainText = (statusCode: number, body: string, headers: Record<string, string> = {}): Response => ({
  statusCode,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body,
});

const notFound = (): Response => plainText(404, "Not found\n");

const cachedFor = (seconds: number): Record<string, string> => ({ "cache-control": `public, max-age=${seconds}` });

const xml = (body: string, headers: Record<string, string> = {}): Response => ({
  statusCode: 200,
  headers: { "content-type": "text/xml; charset=utf-8", ...headers },
  body,
});

/** The longest body of a request of Outlook that is read, in bytes. */
const longestBodyBytes = 16_384;

/**
 * Answers Outlook. The answer does not depend on whether the address exists, so the answer tells nothing about
 * mailboxes.
 */
function autodiscover({ body = "", isBase64Encoded }: APIGatewayProxyEventV2, { domain }: Site, now: Date): Response {
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  const given = bytes.length > longestBodyBytes ? undefined : addressIn(bytes.toString("utf8"));
  const address = given === undefined ? undefined : readAddress(given);
  if (address?.domain !== domain.name) return xml(autodiscoverError(now));
  return xml(autodiscoverXml(`${address.local}@${address.domain}`));
}

/** Answers newer versions of Outlook, which first ask for the address of the settings. */
function autodiscoverPlace({ queryStringParameters = {} }: APIGatewayProxyEventV2, { domain }: Site): Response {
  const names = Object.entries(queryStringParameters).map(([name, value]) => [name.toLowerCase(), value] as const);
  const { protocol = "" } = Object.fromEntries(names);
  if (protocol.toLowerCase() !== "autodiscoverv1") {
    return json(400, { ErrorCode: "ProtocolNotSupported", ErrorMessage: "Ask for the protocol AutodiscoverV1." });
  }
  const Url = `https://autodiscover.${domain.name}/autodiscover/autodiscover.xml`;
  return json(200, { Protocol: "AutodiscoverV1", Url }, cachedFor(3_600));
}

/** Answers a request to a site. Mail clients also ask the domain itself for their settings. */
function answerAt(site: Site, event: APIGatewayProxyEventV2, now: Date): Response {
  const { domain, label } = site;
  const { method } = event.requestContext.http;
  const path = event.rawPath.toLowerCase();
  const isRead = method === "GET" || method === "HEAD";
  const isMail = label !== "mta-sts";
  if (isMail && path === "/autodiscover/autodiscover.xml" && method === "POST") return autodiscover(event, site, now);
  if (!isRead) return plainText(405, "Method not allowed\n", { allow: "GET, HEAD" });
  if (isMail && /^\/autodiscover\/autodiscover\.json(?:\/|$)/.test(path)) return autodiscoverPlace(event, site);
  if (path === "/.well-known/autoconfig/mail/config-v1.1.xml" && isMail)
    return xml(autoconfigXml(domain.name), cachedFor(3_600));
  if (path === "/mail/config-v1.1.xml" && label === "autoconfig")
    return xml(autoconfigXml(domain.name), cachedFor(3_600));
  if (path === "/.well-known/mta-sts.txt" && label === "mta-sts" && domain.mta_sts_mode !== null) {
    return plainText(200, mtaStsPolicy(domain.mta_sts_mode), cachedFor(300));
  }
  const isWebsite = (label === "" || label === "www") && !path.startsWith("/.well-known/");
  if (!isWebsite || domain.redirect_url === null) return notFound();
  return { statusCode: 302, headers: { location: domain.redirect_url, ...cachedFor(300) } };
}

type Answered = { response: Response; fields: Record<string, string> };

async function answer(
  event: APIGatewayProxyEventV2,
  { table, now }: { table: Table; now: () => Date },
): Promise<Answered> {
  if (event.rawPath === askPath) {
    const site = await servedSite(table, readHost(event.queryStringParameters?.["domain"]));
    return { response: site ? plainText(200, "Served here\n") : notFound(), fields: { site: "tls_check" } };
  }
  const site = await servedSite(table, askedHost(event));
  if (!site) return { response: notFound(), fields: {} };
  const { domain, label } = site;
  return {
    response: answerAt(site, event, now()),
    fields: { site: label === "" ? "apex" : label, account_id: domain.account_id, domain_id: domain.id },
  };
}

function internalError(error: unknown, _: string, log: Log): Response {
  logUnexpected(error, log);
  return plainText(500, "Something went wrong on our side. Try again.\n");
}

/** The headers of every answer. Strict transport security is left out: it would bind other hosts of the customer. */
const complete = (response: Response): Response => ({
  ...response,
  headers: {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    ...response.headers,
  },
});

/**
 * Answers HTTP requests to the domains of all accounts, by the host of the request:
 * - `mta-sts.<domain>`: the MTA-STS policy (RFC 8461)
 * - `<domain>` and `www.<domain>`: a redirect to the domain's `redirect_url`, from every path except those under
 *   `/.well-known/`. Mail clients also get their settings here.
 * - `autoconfig.<domain>`: the settings for Thunderbird and others
 * - `autodiscover.<domain>`: the settings for Outlook
 * - any host: whether a TLS proxy may get a certificate for a name
 *
 * Any other path is a 404, and so is the host of a domain that is not in use. A site answers 405 to methods other than
 * GET and HEAD, except for the requests of Outlook.
 */
export const handler = internalHandler({ name: "web", answer, failure: internalError, complete });
