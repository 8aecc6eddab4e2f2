// SPDX-License-Identifier: Apache-2.0

/** An entry of `metadata.ownerReferences`: the object is deleted when all its owners are gone. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** At most one of an object's owners is its controller. */
  readonly controller?: boolean | undefined
  readonly blockOwnerDeletion?: boolean | undefined
}

/** The object that is to own others. */
export type Owner = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

/** The reference by which an owner controls the objects that it creates. A foreground deletion of the owner waits for them. */
export const ownerReference = ({ apiVersion, kind, name, uid }: Owner): OwnerReference => ({
  ...{ apiVersion, kind, name, uid },
  controller: true,
  blockOwnerDeletion: true,
})

/** The one owner that controls an object. */
export const controllerOf = <O extends { readonly controller?: boolean | null | undefined }>(
  owners: readonly O[],
): O | undefined => owners.find(({ controller }) => controller === true)
