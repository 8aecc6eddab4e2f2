// SPDX-License-Identifier: Apache-2.0

/** 0001-01-01T00:00:00Z in seconds, which is Go's zero time: "never". */
export const FIRST_SECOND = -62_135_596_800
/** 9999-12-31T23:59:59Z in seconds: RFC 3339 has four digits for the year. */
export const LAST_SECOND = 253_402_300_799
