// SPDX-License-Identifier: Apache-2.0

/** An entry of `metadata.ownerReferences`: the object goes when all its owners are gone. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** At most one of an object's owners is its controller. */
  readonly controller?: boolean | undefined
  readonly blockOwnerDeletion?: boolean | undefined
}

/** Who is to own. */
export type Owner = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

/** The reference by which an owner controls what it makes. Its deletion in the foreground waits for these. */
export const ownerReference = ({ apiVersion, kind, name, uid }: Owner): OwnerReference => ({
  ...{ apiVersion, kind, name, uid },
  controller: true,
  blockOwnerDeletion: true,
})

/** The one owner that controls an object. */
export const controllerOf = <O extends { readonly controller?: boolean | null | undefined }>(
  owners: readonly O[],
): O | undefined => owners.find(({ controller }) => controller === true)
