import { readFileSync } from "node:fs";

/** The settings of the adapter, from the file conf/adapter.json. */
export type AdapterSettings = {
  /** The address of the API, such as `https://api.example.com`. */
  api: string;
  /** The key that the adapter sends to the API in `X-Mail-Key`. */
  mail_key: string;
  /** The key with which nginx, Dovecot, rspamd and the adapter on this machine authenticate to each other. */
  local_key: string;
  http_port: number;
  socketmap_port: number;
  policy_port: number;
  /** The names of the mail system itself: its host name and the SRS domain. The API does not know these names. */
  own_domains: string[];
  /** The address of Dovecot's HTTP API. */
  doveadm: string;
  /** The folder of all mail: `<account id>/<mailbox id>/Maildir`. */
  store: string;
  /**
   * The folder for reports that the API has not accepted yet, and for the positions in the log and in the revocations.
   */
  state: string;
  /** The log of the outgoing Postfix. */
  postfix_log: string;
  /** The time between two reports of usage and events, in seconds. */
  report_seconds: number;
  /** The time between two requests for revocations, in seconds. */
  revocation_seconds: number;
};

/** Reads the settings file. All values in the file are strings. The names in `own_domains` are separated by spaces. */
export function readSettings(file: string): AdapterSettings {
  const texts = JSON.parse(readFileSync(file, "utf8")) as Record<keyof AdapterSettings, string>;
  return {
    ...texts,
    own_domains: texts.own_domains.toLowerCase().split(" "),
    http_port: Number(texts.http_port),
    socketmap_port: Number(texts.socketmap_port),
    policy_port: Number(texts.policy_port),
    report_seconds: Number(texts.report_seconds),
    revocation_seconds: Number(texts.revocation_seconds),
  };
}
