import { Fault } from '../kernel/fault.ts'
import { statement, type Statement } from '../kernel/db.ts'

export const levels = ['partner', 'merchant', 'branch'] as const
export type Level = (typeof levels)[number]

/** Who is calling: a key, the one entity that it belongs to, and what it may do there and under it. */
export interface Principal {
  readonly keyId: string
  readonly level: Level
  readonly entityId: string
  readonly partnerId: string
  /** Null for a partner's key. */
  readonly merchantId: string | null
  /** Null for a partner's or a merchant's key. */
  readonly branchId: string | null
  readonly scopes: ReadonlySet<string>
}

/** Who shares what a process does at a time: a merchant with its branches, so that many keys of one business are no more than one; else a partner. */
export const sharerOf = ({ merchantId, partnerId }: Principal): string => merchantId ?? partnerId

/** Throws FORBIDDEN for the first of these that the key does not carry. */
export function requireScopes(principal: Principal, scopes: readonly string[]): void {
  const missing = scopes.find((scope) => !principal.scopes.has(scope))
  if (missing !== undefined) {
    throw new Fault('FORBIDDEN', `This key lacks the scope ${missing}; use a key that carries it.`)
  }
}

/**
 * One statement per level of key. The text is made from the column that names the caller's entity, so that every query that a
 * principal causes carries its entity in the WHERE clause and still has one plan for each level.
 */
export function perLevel(name: string, text: (entityColumn: string) => string): Readonly<Record<Level, Statement>> {
  return {
    partner: statement(`${name}OfPartner`, text('partner_id')),
    merchant: statement(`${name}OfMerchant`, text('merchant_id')),
    branch: statement(`${name}OfBranch`, text('branch_id')),
  }
}
