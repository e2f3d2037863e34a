import * as z from "zod";

/**
 * The reason why nothing can be changed at present, as callers read it; an empty text means that there is none. A value
 * such as `true` or `false` is refused: `true` gives callers no reason, and `false` looks like "changes are allowed"
 * but would forbid them.
 */
export const ReadOnlyReason = z
  .string()
  .trim()
  .max(300)
  .refine((text) => !/^(?:true|false|yes|no|on|off|0|1)$/i.test(text), {
    error: "Write the reason that callers get, or leave it empty for none",
  })
  .transform((text) => text || undefined)
  .optional();

const Issuer = z
  .strictObject({
    /** The `iss` claim, compared exactly. */
    issuer: z.string(),
    /** Accepted `aud` values. */
    audience: z.array(z.string()).min(1),
    /** The address of the keys. `jwks` gives the keys inline instead, as the embedded issuer does. */
    jwksUri: z.url({ protocol: /^https$/ }).optional(),
    jwks: z.object({ keys: z.array(z.looseObject({})) }).optional(),
    algorithms: z.array(z.enum(["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"])).min(1),
    /** `at+jwt` requires the type of RFC 9068; `any` is for providers that do not send it. */
    typ: z.enum(["at+jwt", "any"]).default("at+jwt"),
    /**
     * Whether the UUID subjects of this issuer are used as principal ids. Every other subject is hashed with its issuer.
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

export const Environment = z.object({
  TABLE_NAME: z.string().min(3),
  ISSUERS: z.string().transform(parseJson).pipe(z.array(Issuer).min(1)),
  /** The origins of web pages that may call the API, separated by commas. */
  ALLOWED_ORIGINS: z.string().default(""),
  /** `text` is for people at a terminal. */
  LOG_FORMAT: z.enum(["json", "text"]).default("json"),
  LOG_LEVEL: z.enum(["debug", "info", "error", "silent"]).default("info"),
  /** The reason why nothing can be changed at present, as callers read it; if it is not set, changes are allowed. */
  READ_ONLY: ReadOnlyReason,
  /** Whether webhooks may call this machine, over plain HTTP too; for development and tests. */
  WEBHOOK_LOOPBACK: z.enum(["allow", "deny"]).default("deny"),
});
export type Environment = z.output<typeof Environment>;

/** Parses the configuration. Throws one error that names every missing or malformed variable. */
export function readEnvironment(source: Record<string, string | undefined>): Environment {
  const result = Environment.safeParse(source);
  if (!result.success) throw new Error(`The environment is not valid:\n${z.prettifyError(result.error)}`);
  return result.data;
}
