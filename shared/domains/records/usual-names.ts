/*
 * Names that zones usually have. They are looked up if the nameservers of a zone do not transfer the zone. A name
 * without records costs one question.
 */

/** Hosts of web sites, mail, remote access and well-known products. */
const hosts = `
  www web www2 m blog shop store app apps api dev test staging stage beta demo old new cdn static assets img images media
  files download docs wiki help support status forum news portal login auth sso id admin panel cpanel whm git db cloud
  nextcloud intranet vpn remote gateway home ns1 ns2 go links calendar meet chat crm erp jobs pay events
  mail webmail smtp imap pop pop3 mx mx1 mx2 mail1 mail2 email exchange owa lists newsletter bounce bounces em send ftp
  sftp autodiscover autoconfig mta-sts lyncdiscover sip enterpriseenrollment enterpriseregistration msoid`;

/** Texts of mail policies and of proofs. */
const texts = `_dmarc _mta-sts _smtp._tls default._bimi _amazonses _atproto _dnslink`;

/** Selectors of the DKIM keys of mail providers and of services that send newsletters. */
const selectors = `
  default dkim mail smtp google selector1 selector2 k1 k2 k3 s1 s2 s1024 s2048 key1 key2 key3 fm1 fm2 fm3 protonmail
  protonmail2 protonmail3 zoho zmail mandrill mailjet mailo mg mx pic krs pm cm sib brevo1 brevo2 resend smtpapi mte1 mte2
  hs1 hs2 dk dkim1 dkim2 sig1 everlytickey1 everlytickey2 ctct1 ctct2 mxvault titan1 titan2`;

/** Services with SRV records (RFC 2782), most of them of mail, calendars, calls and chats. */
const services = `
  _autodiscover._tcp _imap._tcp _imaps._tcp _pop3._tcp _pop3s._tcp _submission._tcp _submissions._tcp _caldav._tcp
  _caldavs._tcp _carddav._tcp _carddavs._tcp _sip._tls _sip._tcp _sip._udp _sips._tcp _sipfederationtls._tcp
  _xmpp-client._tcp _xmpp-server._tcp _matrix._tcp _matrix-fed._tcp _minecraft._tcp _ldap._tcp _kerberos._udp`;

const listed = (names: string): string[] => names.trim().split(/\s+/);

/** The usual names, relative to a zone, by the types that they can have. A name of any type can be a CNAME instead. */
export const usualNames = {
  hosts: listed(hosts),
  texts: [...listed(texts), ...listed(selectors).map((selector) => `${selector}._domainkey`)],
  services: listed(services),
};
