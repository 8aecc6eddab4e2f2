// SPDX-License-Identifier: Apache-2.0

/** Since Kubernetes 1.35 the API promises that a resource's versions are increasing numbers. @returns undefined for any other text */
export const versionNumber = (version: string): bigint | undefined =>
  /^\d{1,30}$/.test(version) ? BigInt(version) : undefined

/** Whether a version is certainly older than another one of the same resource. */
export const isOlderVersion = (version: string, than: string): boolean => {
  const [a, b] = [versionNumber(version), versionNumber(than)]
  return a !== undefined && b !== undefined && a < b
}
