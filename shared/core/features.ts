import { Problem, type ProblemCode } from "./errors.ts";

/**
 * The problem for each feature. A function throws this problem if the function needs the feature, but the deployment
 * lacks the feature.
 */
const absences = {
  payments: { code: "payments_unavailable", detail: "This deployment takes no payments." },
  mail: { code: "mail_unavailable", detail: "This deployment sends no mail." },
  registrar: { code: "registrar_unavailable", detail: "This deployment registers, renews and transfers no names." },
  dns: {
    code: "dns_unavailable",
    detail: "This deployment hosts no DNS zones. Use the domain with dns_mode external.",
  },
} as const satisfies Record<string, { code: ProblemCode; detail: string }>;

/** A feature that a deployment can lack. */
export type Feature = keyof typeof absences;

export const featureNames = Object.keys(absences) as Feature[];

/**
 * Whether the deployment has a feature. The environment variable `FEATURES_OFF` lists the features that the deployment
 * lacks, separated by commas. infra/config/features.ts makes this list. Without `FEATURES_OFF`, the deployment has all
 * features.
 */
export const hasFeature = (feature: Feature): boolean =>
  !(process.env["FEATURES_OFF"] ?? "").split(",").includes(feature);

/** The 409 for a request that needs a feature which the deployment lacks. */
export function absenceOf(feature: Feature): Problem {
  const { code, detail } = absences[feature];
  return new Problem(code, detail);
}

/** Throws a 409 unless the deployment has a feature. */
export function requireFeature(feature: Feature): void {
  if (!hasFeature(feature)) throw absenceOf(feature);
}
