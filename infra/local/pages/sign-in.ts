import { hash, randomBytes } from "node:crypto";

import * as z from "zod";

import { idOfWords } from "../../../shared/core/ids.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import { MailAddress } from "../../../shared/mail/forwarding/target.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { clientId, issuerUrl, type Person, type TokenIssuer } from "../start/issuer.ts";
import { isOwnForm, refuseForeignForm } from "./forms.ts";
import { htmlAnswer } from "./html.ts";

const codeMs = 60_000;
const tokenSeconds = 3_600;

/** A request of the authorization code flow (RFC 6749 §4.1.1) with PKCE (RFC 7636). */
const Authorization = z.object({
  response_type: z.literal("code"),
  client_id: z.literal(clientId),
  redirect_uri: z.url({ protocol: /^http$/, hostname: /^(?:127\.0\.0\.1|localhost)$/ }),
  code_challenge: z.string().regex(/^[\w-]{43}$/),
  code_challenge_method: z.literal("S256"),
  state: z.string().max(500).optional(),
});
type Authorization = z.output<typeof Authorization>;

/** The fields of the form with which somebody chooses a person of the demo. */
const BySub = z.object({ sub: z.string() });
/** The fields of the form with which somebody enters an address. */
const ByAddress = z.object({
  email: MailAddress,
  given_name: z.string().trim().max(100).optional(),
  family_name: z.string().trim().max(100).optional(),
});

const Exchange = z.object({
  grant_type: z.literal("authorization_code"),
  client_id: z.literal(clientId),
  code: z.string(),
  redirect_uri: z.string(),
  code_verifier: z.string().regex(/^[\w.~-]{43,128}$/),
});

type Pending = { person: Person; asked: Authorization; until: number };

const Claims = z.object({
  sub: z.string(),
  email: z.string().optional(),
  given_name: z.string().optional(),
  family_name: z.string().optional(),
});

const WithToken = z.object({ token: z.string() });
const DemoTokens = z.object({
  super_admin: WithToken,
  accounts: z.array(z.object({ owner: WithToken, viewer: WithToken })),
});

/** The people in the demo data, from the claims of their tokens. Empty until the demo data exists. */
function demoPeople(demo: unknown): Person[] {
  const { data } = DemoTokens.safeParse(demo);
  if (!data) return [];
  const people = [...data.accounts.flatMap(({ owner, viewer }) => [owner, viewer]), data.super_admin];
  return people.map(({ token }) =>
    Claims.parse(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())),
  );
}

/** The fields of a form, without empty fields. */
const fieldsOf = (fields: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...fields].filter(([, value]) => value !== ""));

const personName = ({ given_name = "", family_name = "", email = "" }: Person): string =>
  `${given_name} ${family_name} · ${email}`.trim();

const hidden = (asked: Authorization): string =>
  Object.entries(asked)
    .map(([name, value = ""]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}" />`)
    .join("\n");

const badRequest = (error: z.ZodError): Answer =>
  htmlAnswer(400, "This sign-in cannot begin", `<pre>${escapeHtml(z.prettifyError(error))}</pre>`);

function page(asked: Authorization, people: readonly Person[]): Answer {
  const choices = people.map(
    (person) => `<button name="sub" value="${escapeHtml(person.sub)}">${escapeHtml(personName(person))}</button>`,
  );
  const form = (content: string) =>
    `<form method="post" action="/_local/authorize">\n${hidden(asked)}\n${content}\n</form>`;
  return htmlAnswer(
    200,
    "Who are you?",
    [
      "<p>On this machine you sign in without a password: choose who you are.</p>",
      ...(choices.length === 0 ? [] : ["<h2>A person of the demo</h2>", form(choices.join("\n"))]),
      "<h2>Anybody, by an address</h2>",
      form(
        `<label>E-mail <input type="email" name="email" required autocomplete="off" /></label>
<label>Given name <input name="given_name" autocomplete="off" /></label>
<label>Family name <input name="family_name" autocomplete="off" /></label>
<button>Sign in</button>`,
      ),
    ].join("\n"),
  );
}

const tokenError = (error: string, error_description: string): Answer =>
  jsonAnswer(400, { error, error_description }, { "cache-control": "no-store" });

/** The issued codes that have not been exchanged yet. */
type Codes = Map<string, Pending>;
type People = () => readonly Person[];

/** The chosen person. Undefined if no person of the demo has the given `sub`. */
function personOf(chosen: z.output<typeof BySub | typeof ByAddress>, people: readonly Person[]): Person | undefined {
  if ("sub" in chosen) return people.find(({ sub }) => sub === chosen.sub);
  const { email } = chosen;
  const known = people.find((one) => one.email?.toLowerCase() === email);
  return known ?? { sub: idOfWords(issuerUrl, email), ...chosen };
}

/** Issues a code for the person in the form, and redirects to the client with this code. */
function authorize(request: LocalRequest, codes: Codes, people: People): Answer {
  if (!isOwnForm(request)) return refuseForeignForm();
  const fields = fieldsOf(new URLSearchParams(request.body.toString()));
  const asked = Authorization.safeParse(fields);
  const chosen = (fields["sub"] === undefined ? ByAddress : BySub).safeParse(fields);
  if (!asked.success) return badRequest(asked.error);
  if (!chosen.success) return badRequest(chosen.error);
  const person = personOf(chosen.data, people());
  if (!person)
    return htmlAnswer(400, "This sign-in cannot begin", "<p>No person of the demo has this <code>sub</code>.</p>");
  const code = randomBytes(16).toString("base64url");
  codes.set(code, { person, asked: asked.data, until: Date.now() + codeMs });
  const location = new URL(asked.data.redirect_uri);
  location.searchParams.set("code", code);
  if (asked.data.state !== undefined) location.searchParams.set("state", asked.data.state);
  return { status: 303, headers: { location: location.href }, body: Buffer.alloc(0) };
}

/** Exchanges a code for an access token. Each code is valid only once. */
function exchange({ body }: LocalRequest, codes: Codes, issuer: TokenIssuer): Answer {
  const { success, data, error } = Exchange.safeParse(fieldsOf(new URLSearchParams(body.toString())));
  if (!success) return tokenError("invalid_request", z.prettifyError(error));
  const pending = codes.get(data.code);
  codes.delete(data.code);
  const isValid =
    pending &&
    pending.until > Date.now() &&
    pending.asked.redirect_uri === data.redirect_uri &&
    pending.asked.code_challenge === hash("sha256", data.code_verifier, "base64url");
  if (!isValid)
    return tokenError("invalid_grant", "The code was already used, is too old, or was issued for another request.");
  const access_token = issuer.mint(pending.person, { expiresInSeconds: tokenSeconds });
  const answer = { access_token, token_type: "Bearer", expires_in: tokenSeconds };
  return jsonAnswer(200, answer, { "cache-control": "no-store" });
}

/** The issuer's metadata (OpenID Connect Discovery §3). */
function metadata({ headers }: LocalRequest): Answer {
  const base = `http://${headers.get("host") ?? "127.0.0.1"}`;
  return jsonAnswer(200, {
    issuer: issuerUrl,
    authorization_endpoint: `${base}/_local/authorize`,
    token_endpoint: `${base}/_local/token`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
  });
}

/**
 * The embedded issuer's endpoints of the authorization code flow. Only the local product has these endpoints.
 * - `/_local/authorize`: a page on which you choose a user. The page offers the people of the demo, and accepts any
 *   e-mail address.
 * - `/_local/token`: exchanges a code for an access token, only once and within a minute.
 * - `/_local/issuer/.well-known/openid-configuration`: the issuer's metadata.
 */
export function signInPaths(issuer: TokenIssuer, demo: () => unknown): LocalPath[] {
  const codes: Codes = new Map();
  const people = () => demoPeople(demo());
  return [
    {
      method: "GET",
      path: "/_local/authorize",
      handle: ({ query }) => {
        const { success, data, error } = Authorization.safeParse(fieldsOf(query));
        return success ? page(data, people()) : badRequest(error);
      },
    },
    { method: "POST", path: "/_local/authorize", handle: (request) => authorize(request, codes, people) },
    { method: "POST", path: "/_local/token", handle: (request) => exchange(request, codes, issuer) },
    { method: "GET", path: "/_local/issuer/.well-known/openid-configuration", handle: metadata },
  ];
}
