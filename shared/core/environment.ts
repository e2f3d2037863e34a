import * as z from "zod";

/**
 * The reason why changes are forbidden, as callers read it. With an empty text changes are allowed. A value such as
 * `true` or `false` is refused: `true` gives callers no reason, and `false` would forbid changes although it looks like
 * the opposite.
 */
export const ReadOnlyReason = z
  .string()
  .trim()
  .max(300)
  .refine((text) => !/^(?:true|false|yes|no|on|off|0|1)$/i.test(text), {
    error: "Write the reason for the callers, or leave this empty to allow changes",
  })
  .transform((text) => text || undefined)
  .optional();

/** An address of the issuer: HTTPS, or HTTP on this machine. */
const IssuerUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => url.startsWith("https:") || ["127.0.0.1", "localhost"].includes(new URL(url).hostname), {
    error: "Write an address with https",
  });

const Issuer = z
  .strictObject({
    /** The `iss` claim, compared exactly. */
    issuer: z.string(),
    /** The accepted `aud` values. */
    audience: z.array(z.string()).min(1),
    /** The address of the keys. */
    jwksUri: z.url({ protocol: /^https$/ }).optional(),
    /** The keys themselves, for the embedded issuer. */
    jwks: z.object({ keys: z.array(z.looseObject({})) }).optional(),
    algorithms: z.array(z.enum(["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"])).min(1),
    /** `at+jwt` requires the token type of RFC 9068. `any` is for issuers whose tokens do not have this type. */
    typ: z.enum(["at+jwt", "any"]).default("at+jwt"),
    /** The address of the userinfo endpoint (OpenID Connect Core §5.3). By default the issuer's metadata names it. */
    userinfoEndpoint: IssuerUrl.optional(),
    /** Whether an e-mail address from the issuer counts as verified if the claim `email_verified` is missing. */
    emailsAreVerified: z.boolean().default(false),
    /** How people sign in on the product's pages. Without this setting, the pages offer no sign-in. */
    signIn: z
      .strictObject({
        /** The id of a public client (RFC 6749 §2.1) that is registered with `/invitation` as a redirect address. */
        clientId: z.string().min(1),
        /** The endpoints. By default the issuer's metadata names them. */
        authorizationEndpoint: IssuerUrl.optional(),
        tokenEndpoint: IssuerUrl.optional(),
        scope: z.string().default("openid email profile"),
        /** Further parameters of the request, such as `resource` (RFC 8707) or `audience`. */
        parameters: z.record(z.string(), z.string()).default({}),
      })
      .optional(),
    /**
     * Whether the UUID subjects of this issuer are principal ids. Any other subject is hashed together with the name of
     * its issuer.
     */
    primary: z.boolean().default(false),
  })
  .refine(({ jwksUri, jwks }) => (jwksUri === undefined) !== (jwks === undefined), {
    error: "Give either jwksUri or jwks",
  });
export type Issuer = z.output<typeof Issuer>;

function parseJson(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.issues.push({ code: "custom", input: text, message: "Not JSON" });
    return z.NEVER;
  }
}

const Issuers = z.string().transform(parseJson).pipe(z.array(Issuer).min(1));

export const Environment = z.object({
  TABLE_NAME: z.string().min(3),
  ISSUERS: Issuers,
  /** The origins of web pages that may call the API, separated by commas. */
  ALLOWED_ORIGINS: z.string().default(""),
  /** The origins to which payers may be led after a checkout, separated by commas. */
  RETURN_ORIGINS: z.string().default(""),
  /** Whether payers may be led to this machine too, even over plain HTTP. For development and tests. */
  RETURN_LOOPBACK: z.enum(["allow", "deny"]).default("deny"),
  /** `text` is for people who read the log in a terminal. */
  LOG_FORMAT: z.enum(["json", "text"]).default("json"),
  LOG_LEVEL: z.enum(["debug", "info", "error", "silent"]).default("info"),
  /** The reason why changes are forbidden. Undefined if changes are allowed. */
  READ_ONLY: ReadOnlyReason,
  /** Whether webhooks may call this machine, even over plain HTTP. For development and tests. */
  WEBHOOK_LOOPBACK: z.enum(["allow", "deny"]).default("deny"),
});
export type Environment = z.output<typeof Environment>;

/** The configured issuers. Throws for a malformed variable. */
export const readIssuers = ({ ISSUERS }: Record<string, string | undefined>): Issuer[] => Issuers.parse(ISSUERS);

/** Parses the configuration. Throws one error that names every missing or malformed variable. */
export function readEnvironment(source: Record<string, string | undefined>): Environment {
  const result = Environment.safeParse(source);
  if (!result.success) throw new Error(`The environment is not valid:\n${z.prettifyError(result.error)}`);
  return result.data;
}
