"""Secrets that are planted in texts, and what stands around them; in pieces, so that no scanner takes them for real."""

SECRETS = {
    "aws": "AKIA" + "ABCDEFGHIJKLMNOP",
    "github": "ghp_" + "a1B2" * 9,
    "slack": "xoxb-" + "123456789012-" + "abcdefghijklmnop",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "c2lnbmF0dXJlYWJj",
    "pem": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEow" * 20 + "\n-----END RSA " + "PRIVATE KEY-----",
    "password": "Tr0ub4dor" + "-horse-77",
    "bearer": "abcdefghij" + "0123456789" + "XYZ",
    "url": "s3cr3t" + "pa55w0rd",
}
AROUND = {"password": "password={}", "bearer": "Authorization: Bearer {}", "url": "postgres://app:{}@db/app"}
