import { built, joined, later } from './rule.ts'

/** Entities, keys, scopes, and what a caller may see. */
export const identity = joined(
  built({
    'I1.levels.tree': 'a partner has merchants, a merchant has branches, and each has a uuid',
    'I1.levels.below': 'a key sees what belongs to its entity and to everything under it',
    'I1.levels.not-above': 'a key sees nothing that belongs to an entity above its own',
    'I1.levels.not-beside': 'a key sees nothing that belongs to an entity beside its own',
    'I1.foreign.webhooks': 'area A answers 403 FORBIDDEN for the id of a resource of another entity',
    'I1.foreign.reporting': 'area B answers 403 FORBIDDEN for the id of a transaction of another entity',
    'I1.foreign.ecommerce':
      'area C answers 404 NOT_FOUND for the id of a resource of another entity, as for one that does not exist',
    'I1.scopes.qr-create': 'qr.create lets a key create and read QR codes',
    'I1.key.sealed':
      'for an account of area E the secret key is also kept sealed with AES-256-GCM under the master key, to encrypt notifications',
    'I1.scopes.qr-webhooks-write': 'qr_webhooks.write lets a key use every operation of the encrypted webhooks',
  }),
  built({
    'I1.levels.parent-name': 'in reporting a branch key also sees the name of its merchant, and nothing else of it',
  }),
  built({
    'I1.foreign.terminals':
      "area D looks in the caller's group first; an id that only another group has is 403 GROUP_MISMATCH",
  }),

  built({
    'I1.header.key': 'areas A and C take the key, exactly as it was issued, in the header X-API-Key',
    'I1.header.missing': 'a request without X-API-Key is 401 UNAUTHORIZED',
    'I1.header.unknown': 'a key that was never issued, or has one character changed, is 401 UNAUTHORIZED',
    'I1.key.form': 'a secret key is its prefix and 24 base62 characters: 32 ASCII characters in all',
    'I1.key.shown-once': 'a secret key is shown when it is made and never again',
    'I1.key.stored-hash': 'keys are looked up by SHA-256, and the key itself is in no table',
    'I1.key.issued-by-operator': 'keys are issued on the command line, and no operation of the public API makes one',
  }),
  built({
    'I1.header.key.reporting': 'area B takes the key, exactly as it was issued, in the header X-API-Key',
  }),
  later('dashboard', {
    'I1.key.issued-in-dashboard': 'an operator can issue and revoke keys in the dashboard',
  }),

  built({
    'I1.key-state.active': 'a key that is ACTIVE is accepted',
    'I1.key-state.expired': 'a key that is EXPIRED is 401 UNAUTHORIZED in areas A and C',
    'I1.key-state.revoked': 'a key that is REVOKED is 401 UNAUTHORIZED in areas A and C',
    'I1.key-state.suspended': 'a key that is SUSPENDED is 401 UNAUTHORIZED in areas A and C',
    'I1.key-state.deleted': 'a key that is DELETED is 401 UNAUTHORIZED in areas A and C',
    'I1.account-state.inactive': 'a key of an account that is INACTIVE is 403 FORBIDDEN in areas A and C',
    'I1.account-state.locked': 'a key of an account that is LOCKED is 403 FORBIDDEN in areas A and C',
    'I1.account-state.payers': 'a payer begins no payment for an account that is not ACTIVE: 403 FORBIDDEN',
    'I1.account-state.branch': 'a key makes no links and no intents for a branch that is not ACTIVE: 403 FORBIDDEN',
    'I1.state.at-once': 'a change of a key or an account counts from the next request on',
  }),
  built({
    'I1.scopes.missing.reporting': 'a key without reports.read is 403 FORBIDDEN in area B',
    'I1.key-state.reporting': 'in area B a key that is not ACTIVE is 401 UNAUTHORIZED',
    'I1.account-state.reporting': 'in area B a key of an account that is not ACTIVE is 403 FORBIDDEN',
  }),
  built({
    'I1.key-state.terminals': 'in area D a key that is not ACTIVE is 401 UNAUTHORIZED',
    'I1.account-state.terminals': 'in area D a key of an account that is not ACTIVE is 401 UNAUTHORIZED',
  }),

  built({
    'I1.scopes.missing': 'a key without the scope that the operation needs is 403 FORBIDDEN in areas A and C',
    'I1.scopes.webhooks-read.endpoints': 'webhooks.read lets a key list and retrieve endpoints',
    'I1.scopes.webhooks-read.events': 'webhooks.read lets a key list events',
    'I1.scopes.webhooks-read.event': 'webhooks.read lets a key retrieve one event',
    'I1.scopes.webhooks-write.create': 'webhooks.write lets a key create endpoints',
    'I1.scopes.webhooks-write.update': 'webhooks.write lets a key update endpoints',
    'I1.scopes.webhooks-write.delete': 'webhooks.write lets a key delete endpoints',
    'I1.scopes.webhooks-write.resend': 'webhooks.write lets a key resend an event',
    'I1.scopes.webhooks-write.recover': 'webhooks.write lets a key recover what an endpoint missed',
    'I1.scopes.webhooks-write.test': 'webhooks.write lets a key send a test event',
    'I1.scopes.webhooks-secret.read': 'webhooks.secret lets a key read a signing secret',
    'I1.scopes.webhooks-secret.rotate': 'rotating a signing secret needs webhooks.secret and webhooks.write together',
    'I1.scopes.payment-links-create': 'payment_links.create lets a key create links',
    'I1.scopes.payment-links-read': 'payment_links.read lets a key retrieve and list links',
    'I1.scopes.payment-intents-create': 'payment_intents.create lets a key create intents',
    'I1.scopes.payment-intents-read': 'payment_intents.read lets a key retrieve intents',
    'I1.scopes.payment-intents-confirm':
      'payment_intents.confirm lets a secret key confirm an intent; a client_secret needs no scope',
  }),
  built({
    'I1.scopes.reports-read': 'reports.read lets a key use every operation of area B',
  }),
  built({
    'I1.scopes.payment-links-update': 'payment_links.update lets a key update links',
    'I1.scopes.payment-links-cancel': 'payment_links.cancel lets a key cancel links',
  }),
  built({
    'I1.scopes.payment-intents-cancel': 'payment_intents.cancel lets a key cancel intents',
  }),
  built({
    'I1.scopes.refunds-create': 'refunds.create lets a key create refunds',
    'I1.scopes.refunds-read': 'refunds.read lets a key retrieve refunds',
  }),
)
