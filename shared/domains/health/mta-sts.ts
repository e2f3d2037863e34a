import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

import * as z from "zod";

import { Endpoint } from "../../core/endpoint.ts";
import { isPublicUnicast } from "../../core/ip.ts";
import { platform } from "../../core/platform.ts";
import type { StoredDomain } from "../domain.ts";
import { allowsHost, type MtaStsMode, readPolicy } from "../records/mta-sts.ts";
import type { SystemRecord } from "../records/system-records.ts";
import { type Check, checkText, type HealthQuestion } from "./mail-checks.ts";

export const MtaStsEnvironment = z.object({
  /**
   * A server for development and tests. If it is set, all policies are fetched from this server by plain HTTP, instead
   * of by HTTPS from the hosts of the domains.
   */
  MTA_STS_SERVER: Endpoint.optional(),
});

const longestPolicyBytes = 65_536;
const fetchMs = 5_000;
const noTime = "the answers took too long";

/** The result of fetching a policy: its text, why senders cannot get the policy, or why this is unknown. */
type Fetched = { text: string } | { fault: string } | { unknown: string };

type Source = { secure: boolean; address: string; port: number; host: string };

/**
 * The server that has the policy of a domain, or the reason why none can be asked. Except for `MTA_STS_SERVER`, a
 * server without a public address is never asked.
 */
async function policySource({
  domain,
  resolver,
  budget,
}: HealthQuestion): Promise<Source | Exclude<Fetched, { text: string }>> {
  const host = `mta-sts.${domain}`;
  const { MTA_STS_SERVER: server } = MtaStsEnvironment.parse(process.env);
  if (server) return { secure: false, host, ...server };
  const answers = await Promise.all((["A", "AAAA"] as const).map((type) => resolver.resolve(host, type, budget)));
  const addresses = answers.flatMap((answer) =>
    answer.status === "found" ? answer.records.flatMap((one) => ("address" in one ? [one.address] : [])) : [],
  );
  const address = addresses.find(isPublicUnicast);
  if (address !== undefined) return { secure: true, host, address, port: 443 };
  const unclear = answers.find(({ status }) => status === "unknown");
  if (unclear?.status === "unknown") return { unknown: unclear.reason };
  return { fault: addresses.length === 0 ? `${host} has no address` : `${host} has no public address` };
}

/** Whether an error code of Node says that a certificate is not valid for the host, such as `CERT_HAS_EXPIRED`. */
const isCertificateFault = (code: string): boolean =>
  /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY))/.test(code);

/**
 * Fetches the policy of a domain as senders do (RFC 8461 §3.3): over HTTPS with a valid certificate, without redirects,
 * at most 64 KiB, within five seconds, and no longer than the budget allows.
 */
async function fetchPolicy(asked: HealthQuestion): Promise<Fetched> {
  const source = await policySource(asked);
  if (!("address" in source)) return source;
  // AbortSignal.timeout() accepts only whole milliseconds.
  const timeoutMs = Math.ceil(Math.min(fetchMs, asked.budget?.remainingMs() ?? fetchMs));
  if (timeoutMs === 0) return { unknown: noTime };
  const { secure, address, port, host } = source;
  return new Promise((settle) => {
    const request = (secure ? requestHttps : requestHttp)({
      host: address,
      port,
      path: "/.well-known/mta-sts.txt",
      headers: { host, "user-agent": "hosted-mail-health/1" },
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
      ...(secure ? { servername: host } : {}),
    });
    const end = (fetched: Fetched): void => {
      settle(fetched);
      request.destroy();
    };
    request.on("error", ({ code = "", message }: NodeJS.ErrnoException) => {
      if (isCertificateFault(code)) end({ fault: `the certificate of its host is not valid (${code})` });
      else end({ unknown: code === "ABORT_ERR" ? noTime : message });
    });
    request.on("response", (response) => {
      const { statusCode = 0, headers } = response;
      if (statusCode !== 200) return end({ fault: `its host answers with the status ${statusCode}` });
      if (!/^text\/plain\b/i.test(headers["content-type"] ?? "")) return end({ fault: "it is not text/plain" });
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > longestPolicyBytes) end({ fault: `it has more than ${longestPolicyBytes} bytes` });
      });
      response.on("end", () => end({ text: Buffer.concat(chunks).toString("utf8") }));
      response.on("error", ({ code, message }: NodeJS.ErrnoException) =>
        end({ unknown: code === "ABORT_ERR" ? noTime : message }),
      );
    });
    request.end();
  });
}

type PolicyResult = Pick<Check, "status" | "message">;

/**
 * The result for a policy that is announced in the DNS. `mode` is the mode that our policy must have, `testing` or
 * `enforce`. `mode` is undefined while our policy is off. The announced policy is then one of another host, or our own
 * with the mode `none`. `wrong` is the status if the policy does not protect mail to us. An enforced policy without our
 * mail hosts always fails.
 */
async function checkPolicy(
  asked: HealthQuestion,
  mode: MtaStsMode | undefined,
  wrong: "warn" | "fail",
): Promise<PolicyResult> {
  const fetched = await fetchPolicy(asked);
  if ("unknown" in fetched)
    return { status: "unknown", message: `The policy could not be fetched: ${fetched.unknown}.` };
  if ("fault" in fetched) return { status: wrong, message: `Senders cannot get the policy: ${fetched.fault}.` };
  const policy = readPolicy(fetched.text);
  if (!policy)
    return { status: wrong, message: "Senders cannot read the policy. It does not have the form of RFC 8461." };
  if (mode !== undefined && policy.mode !== mode) {
    return { status: wrong, message: `The policy has the mode ${policy.mode} instead of ${mode}.` };
  }
  if (policy.mode === "none") return { status: "warn", message: offMessage };
  const missing = platform().mx.find(({ host }) => !allowsHost(policy.hosts, host));
  if (missing) {
    const message = `The policy does not allow mail to ${missing.host}.`;
    // An enforced policy of another host is a failure, even if `wrong` is a warning: senders that have the policy
    // refuse to deliver mail to us (RFC 8461 §5).
    return policy.mode === "enforce" && mode === undefined
      ? { status: "fail", message: `${message} ${replaceAdvice}` }
      : { status: wrong, message };
  }
  return { status: "pass", message: `The policy is served, with the mode ${policy.mode}.` };
}

/** The advice for a domain with an enforced policy of another host. */
const replaceAdvice =
  "Senders refuse to deliver mail that the policy does not allow. Remove the records at _mta-sts and mta-sts, and set mta_sts_mode to testing, so that senders fetch the new policy.";

const offMessage =
  "MTA-STS is off. With MTA-STS, senders use only safe connections. To begin, set mta_sts_mode to testing.";

/**
 * Checks that senders find the MTA-STS policy of a domain, and that the policy allows our mail hosts. While our policy
 * is off (`mta_sts_mode` is null or `none`), the domain may have a policy elsewhere, and gets a warning without one.
 */
export async function checkMtaSts(
  asked: HealthQuestion,
  { mta_sts_mode: mode }: Pick<StoredDomain, "mta_sts_mode">,
  expected: readonly SystemRecord[] | undefined,
): Promise<Check> {
  const name = "mta_sts";
  const wanted = expected?.find(({ purpose, type }) => purpose === name && type === "TXT");
  const isOn = mode === "testing" || mode === "enforce";
  if (isOn && !wanted) {
    return {
      name,
      status: "unknown",
      message: "The policy is served once the domain is active and this deployment has a web host.",
    };
  }
  const begins = /^v=STSv1/i;
  const record: SystemRecord = wanted ?? { purpose: name, name: "_mta-sts", type: "TXT", value: "", ttl: 0 };
  const isRight = (text: string): boolean => !isOn || text === record.value;
  const {
    missing,
    expected: values,
    ...check
  } = await checkText(name, asked, record, { begins, isRight, wrong: isOn ? "fail" : "warn" });
  // While our policy is off, any record is right, so the result has no expected value and no record to add.
  const wantedValues = isOn ? { expected: values ?? [], ...(missing ? { missing } : {}) } : {};
  const about = { ...check, ...wantedValues };
  if (check.status === "pass")
    return { ...about, ...(await checkPolicy(asked, isOn ? mode : undefined, isOn ? "fail" : "warn")) };
  return check.status === "warn" && check.observed?.length === 0 ? { ...about, message: offMessage } : about;
}
