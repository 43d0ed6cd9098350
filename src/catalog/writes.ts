// The 22 write operations: endpoint, target, body (docs/sources.md, 4.1, 4.4, and the `source` of each).

import type { WriteDef } from './types.ts'
import {
  crewMemberBody,
  identityBody,
  identityUpdateBody,
  licenseBody,
  optionAddBody,
  optionUpdateBody,
  paymentBody,
  rentalCreateBody,
  rentalUpdateBody,
  userAssignBody,
  userBody,
} from './write-bodies.ts'

const rentalId = { rentalId: 'integer' } as const
const userId = { userId: 'integer' } as const

/** The operations with their literal types, from which the types of commands derive. */
export const writeLiterals = [
  {
    operation: 'rental.create',
    endpoint: 'POST /v3/rentals',
    kind: 'create',
    stream: 'rentals',
    aggregate: 'rental',
    target: {},
    body: rentalCreateBody,
    source:
      'docs/sources.md, 4.4, resources/rental-creation-object, reference/rental-management/initiate-the-rental-process',
  },
  {
    operation: 'rental.update',
    endpoint: 'PUT /v3/rentals/{rentalId}',
    kind: 'update',
    stream: 'rentals',
    aggregate: 'rental',
    target: rentalId,
    body: rentalUpdateBody,
    source: 'docs/sources.md, 2.5, 4.4, reference/rental-management/update-rental',
  },
  {
    operation: 'rental.delete',
    endpoint: 'DELETE /v3/rentals/{rentalId}',
    kind: 'delete',
    stream: 'rentals',
    aggregate: 'rental',
    target: rentalId,
    body: [],
    source: 'docs/sources.md, 4.4',
  },
  {
    operation: 'rental_option.add',
    endpoint: 'POST /v3/rentals/{rentalId}/options',
    kind: 'add',
    stream: 'rental_options',
    aggregate: 'rental',
    target: rentalId,
    body: optionAddBody,
    source: 'docs/sources.md, 4.4, reference/rental-option-management/add-an-option-to-a-rental',
  },
  {
    operation: 'rental_option.update',
    endpoint: 'PUT /v3/rentals/{rentalId}/options/{optionId}',
    kind: 'update',
    stream: 'rental_options',
    aggregate: 'rental',
    target: { rentalId: 'integer', optionId: 'integer' },
    body: optionUpdateBody,
    source: 'docs/sources.md, 4.4',
  },
  {
    operation: 'rental_option.remove',
    endpoint: 'DELETE /v3/rentals/{rentalId}/options/{optionId}',
    kind: 'remove',
    stream: 'rental_options',
    aggregate: 'rental',
    target: { rentalId: 'integer', optionId: 'integer' },
    body: [],
    source: 'docs/sources.md, 4.4',
  },
  {
    operation: 'rental_payment.add',
    endpoint: 'POST /v3/rentals/{rentalId}/payments',
    kind: 'add',
    stream: 'rental_payments',
    aggregate: 'rental',
    target: rentalId,
    body: paymentBody,
    source: 'docs/sources.md, 4.4, reference/rental-payment-management/add-payment-line-to-a-rental',
  },
  {
    operation: 'rental_payment.update',
    endpoint: 'PUT /v3/rentals/{rentalId}/payments/{paymentId}',
    kind: 'update',
    stream: 'rental_payments',
    aggregate: 'rental',
    target: { rentalId: 'integer', paymentId: 'integer' },
    body: paymentBody,
    source: 'docs/sources.md, 4.4, reference/rental-payment-management/update-rental-payment-line',
  },
  {
    operation: 'rental_payment.remove',
    endpoint: 'DELETE /v3/rentals/{rentalId}/payments/{paymentId}',
    kind: 'remove',
    stream: 'rental_payments',
    aggregate: 'rental',
    target: { rentalId: 'integer', paymentId: 'integer' },
    body: [],
    source: 'docs/sources.md, 4.4',
  },
  {
    operation: 'rental_user.assign',
    endpoint: 'POST /v3/rentals/{rentalId}/user',
    kind: 'assign',
    stream: 'rentals',
    aggregate: 'rental',
    target: rentalId,
    body: userAssignBody,
    source: 'docs/sources.md, 4.4, reference/rental-user-management/assign-a-user-to-a-rental',
  },
  {
    operation: 'rental_crew_member.add',
    endpoint: 'POST /v3/rentals/{rentalId}/crewMembers',
    kind: 'add',
    stream: 'rental_crew_members',
    aggregate: 'rental',
    target: rentalId,
    body: crewMemberBody,
    source: 'docs/sources.md, 4.4, reference/rental-crew-management/add-a-crew-member-to-a-rental',
  },
  {
    operation: 'rental_crew_member.update',
    endpoint: 'PUT /v3/rentals/{rentalId}/crewMembers/{crewMemberId}',
    kind: 'update',
    stream: 'rental_crew_members',
    aggregate: 'rental',
    target: { rentalId: 'integer', crewMemberId: 'integer' },
    body: crewMemberBody,
    source: 'docs/sources.md, 4.4',
  },
  {
    operation: 'rental_crew_member.remove',
    endpoint: 'DELETE /v3/rentals/{rentalId}/crewMembers/{crewMemberId}',
    kind: 'remove',
    stream: 'rental_crew_members',
    aggregate: 'rental',
    target: { rentalId: 'integer', crewMemberId: 'integer' },
    body: [],
    source: 'docs/sources.md, 4.4',
  },
  {
    operation: 'user.create',
    endpoint: 'POST /v3/users',
    kind: 'create',
    stream: 'users',
    aggregate: 'user',
    target: {},
    body: userBody,
    source: 'docs/sources.md, 2.6, 4.1, reference/user-management/add-a-new-user-to-your-addressbook',
  },
  {
    operation: 'user.update',
    endpoint: 'PUT /v3/users/{userId}',
    kind: 'update',
    stream: 'users',
    aggregate: 'user',
    target: userId,
    body: userBody,
    source: 'docs/sources.md, 2.6, 4.1, reference/user-management/update-a-user-from-your-addressbook',
  },
  {
    operation: 'user.delete',
    endpoint: 'DELETE /v3/users/{userId}',
    kind: 'delete',
    stream: 'users',
    aggregate: 'user',
    target: userId,
    body: [],
    source: 'docs/sources.md, 4.1',
  },
  {
    operation: 'user_identity.add',
    endpoint: 'POST /v3/users/{userId}/identity',
    kind: 'add',
    stream: 'user_identities',
    aggregate: 'user',
    target: userId,
    body: identityBody,
    source: 'docs/sources.md, 4.1, reference/user-documents-management/add-identity-document-to-an-existing-user',
  },
  {
    operation: 'user_identity.update',
    endpoint: 'PUT /v3/users/{userId}/identity',
    kind: 'update',
    stream: 'user_identities',
    aggregate: 'user',
    target: userId,
    body: identityUpdateBody,
    source: 'docs/sources.md, 4.1, reference/user-documents-management/update-identity-document-for-an-existing-user',
  },
  {
    operation: 'user_identity.remove',
    endpoint: 'DELETE /v3/users/{userId}/identity',
    kind: 'remove',
    stream: 'user_identities',
    aggregate: 'user',
    target: userId,
    body: [],
    source: 'docs/sources.md, 4.1',
  },
  {
    operation: 'user_license.add',
    endpoint: 'POST /v3/users/{userId}/license',
    kind: 'add',
    stream: 'user_licenses',
    aggregate: 'user',
    target: userId,
    body: licenseBody,
    source: 'docs/sources.md, 4.1, reference/user-documents-management/add-license-document-to-an-existing-user',
  },
  {
    operation: 'user_license.update',
    endpoint: 'PUT /v3/users/{userId}/license',
    kind: 'update',
    stream: 'user_licenses',
    aggregate: 'user',
    target: userId,
    body: licenseBody,
    source: 'docs/sources.md, 4.1, reference/user-documents-management/update-license-document-for-an-existing-user',
  },
  {
    operation: 'user_license.remove',
    endpoint: 'DELETE /v3/users/{userId}/license',
    kind: 'remove',
    stream: 'user_licenses',
    aggregate: 'user',
    target: userId,
    body: [],
    source: 'docs/sources.md, 4.1',
  },
] as const satisfies readonly WriteDef[]

/** All 22 write operations. */
export const writes: readonly WriteDef[] = writeLiterals

/** The name of a write operation. */
export type Operation = (typeof writeLiterals)[number]['operation']

/** Which operation's result may stand for a path parameter, as `{"change": n}`. */
export const targetResults: Readonly<Record<string, Operation>> = {
  rentalId: 'rental.create',
  optionId: 'rental_option.add',
  paymentId: 'rental_payment.add',
  crewMemberId: 'rental_crew_member.add',
  userId: 'user.create',
}

const byOperation = new Map(writes.map((write) => [write.operation, write]))

/** The operation of this name. @throws Error when the catalog has none: a slip in our own code. */
export function writeNamed(operation: string): WriteDef {
  const write = byOperation.get(operation)
  if (write === undefined) throw new Error(`The catalog has no operation ${operation}.`)
  return write
}
