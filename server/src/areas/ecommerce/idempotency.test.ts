import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Principal } from '../../identity/principal.ts'
import { rowsOf, withoutWorker } from '../../../test/conformance/shop.ts'
import { platform } from '../../../test/platform.ts'
import { createIdempotency } from './idempotency.ts'

// Answers hold secrets: what is kept opens for the entity, the operation and the key that it was kept for, and for nobody else.
const p = await platform({ after }, withoutWorker)
const { db, keyring } = p.kaha
const idempotency = createIdempotency({ db, keyring })

const asked = (entityId: string, operation: string, key: string) =>
  idempotency.change({ principal: { entityId } as Principal, operation, key, body: {} }, async () => ({
    status: 200,
    body: { told: entityId },
  }))

test('an answer that is kept opens at its own place alone, whatever row it is moved to', async () => {
  const [one, other] = [p.seed.partner.id, p.merchant.id]
  const key = 'key-of-answer'
  const first = await asked(one, 'createThing', key)
  assert.deepEqual(await asked(one, 'createThing', key), { ...first, replayed: true })
  const moved: readonly (readonly [string, string, string])[] = [
    [other, 'createThing', key],
    [one, 'createOther', key],
    [one, 'createThing', 'another-key'],
  ]
  for (const [entityId, operation, movedKey] of moved) {
    await rowsOf(
      p,
      `insert into ecommerce.idempotency (entity_id, operation, key, request_hash, response, expires_at)
       select $1, $2, $3, request_hash, response, expires_at from ecommerce.idempotency where entity_id = $4 and operation = $5 and key = $6`,
      [entityId, operation, movedKey, one, 'createThing', key],
    )
    await assert.rejects(asked(entityId, operation, movedKey), /authenticate data/)
  }
})
