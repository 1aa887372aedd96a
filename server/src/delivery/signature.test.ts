import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import vectors from '../../test/vectors/webhook-signatures.json' with { type: 'json' }
import { signed } from './dialects.ts'
import { newSecret } from './secrets.ts'
import { keyOfSecret, sign } from './signature.ts'

for (const { secret, id, timestamp, body, signature } of vectors.cases) {
  test(`A2.signature.form: the message ${id} of the standard's vectors has the signature that they give`, () => {
    assert.equal(sign([keyOfSecret(secret)], { id, timestamp, body }), signature)
  })
}

test('whatever is signed is verified by the standard library of the receiver, with each of several secrets', () => {
  fc.assert(
    fc.property(fc.json(), fc.uuid(), (body, id) => {
      const secrets = [newSecret(), newSecret(), newSecret()]
      const timestamp = Math.floor(Date.now() / 1_000)
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': sign(secrets.map(keyOfSecret), { id, timestamp, body }),
      }
      for (const secret of secrets) new Webhook(secret).verify(body, headers)
      assert.throws(() => new Webhook(newSecret()).verify(body, headers))
      assert.throws(() => new Webhook(secrets[0] ?? '').verify(`${body} `, headers))
    }),
    { numRuns: 50 },
  )
})

test('A2.secret.form: a new secret is whsec_ and the padded base64 of 32 bytes', () => {
  assert.match(newSecret(), /^whsec_[0-9A-Za-z+/]{43}=$/)
  assert.equal(keyOfSecret(newSecret()).symmetricKeySize, 32)
})

const noSecrets: readonly (readonly [what: string, text: string])[] = [
  ['empty', ''],
  ['without its prefix', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ['with another prefix', 'whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ['without its padding', 'whsec_Elt3C0NPjI92xSY1bnYl7BEceyIb1azDjZa4XrMmcRQ'],
  ['in the base64 of addresses', 'whsec_Elt3C0NPjI92xSY1bnYl7BEceyIb1azDjZa4XrMm-_Q='],
  ['of 23 bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
  ['of 65 bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ['with a line break', 'whsec_Elt3C0NPjI92xSY1bnYl7BEceyIb1azDjZa4XrMmcRQ=\n'],
]
for (const [what, text] of noSecrets) {
  test(`a secret ${what} is refused, and the refusal does not quote it`, () => {
    assert.throws(
      () => keyOfSecret(text),
      (error: Error) => text === '' || !error.message.includes(text),
    )
  })
}

test('a destination without a secret in force gets nothing unsigned', () => {
  const outgoing = { eventId: 'e', destinationId: 'd', type: 't', body: '{}', keys: [], wallMs: 0 }
  assert.throws(() => signed.prepare(outgoing), /no signing secret/)
})
