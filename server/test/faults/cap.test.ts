import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKaha } from '@kaha/sdk'
import { cards, platform, type Platform } from '../platform.ts'
import { confirm, raceForLink, tally } from './cap.ts'

/** Two processes' worth of platform on one database, so that no lock in memory could help. */
async function crowdOn(people: Platform) {
  const { localUrl } = await people.another()
  return {
    clients: [people.sdk, createKaha({ baseUrl: localUrl, apiKey: people.merchant.secret_key })],
    branchReference: people.branch.reference_number,
    cards: [cards.approved],
  }
}

test('C4.uses.cap, C4.uses.reserved, C4.confirm.link-full, C4.link-state.consumed-multi-use: of fifty payers at once on a link for three exactly three succeed', async (t) => {
  const people = await platform(t)
  const crowd = await crowdOn(people)
  const { linkId, intentIds, answers } = await raceForLink({ ...crowd, payers: 50, maxUses: 3 })

  const { SUCCEEDED, LINK_FULLY_RESERVED = 0, INVALID_STATE = 0, ...others } = tally(answers)
  assert.equal(SUCCEEDED, 3)
  assert.equal(LINK_FULLY_RESERVED + INVALID_STATE, 47)
  assert.deepEqual(others, {})

  const link = await people.sdk.paymentLinks.retrieve(linkId)
  assert.equal(link.status, 'CONSUMED')
  assert.equal(link.successful_payment_count, 3)
  const statuses = await Promise.all(intentIds.map(async (id) => (await people.sdk.paymentIntents.retrieve(id)).status))
  assert.deepEqual(tally(statuses), { SUCCEEDED: 3, CONSUMED: 47 })
  const late = intentIds[statuses.indexOf('CONSUMED')] ?? ''
  assert.equal(await confirm(people.sdk, late, cards.approved), 'INVALID_STATE')
})

test('C4.uses.cap, C4.link-state.consumed-one-time: of twenty payers at once on a one_time link exactly one succeeds', async (t) => {
  const people = await platform(t)
  const crowd = await crowdOn(people)
  const { linkId, answers } = await raceForLink({ ...crowd, payers: 20, maxUses: null })

  assert.equal(tally(answers)['SUCCEEDED'], 1)
  const link = await people.sdk.paymentLinks.retrieve(linkId)
  assert.equal(link.status, 'CONSUMED')
  assert.equal(link.successful_payment_count, 1)
})

test('C4.uses.cap, C4.uses.released: declined payers among them give their uses back, and no use is lost or spent twice', async (t) => {
  const people = await platform(t)
  const crowd = await crowdOn(people)
  const mixed = [cards.declined, cards.approved, cards.error]
  const { linkId, intentIds, answers } = await raceForLink({ ...crowd, payers: 30, maxUses: 4, cards: mixed })

  assert.ok((tally(answers)['SUCCEEDED'] ?? 0) <= 4)
  for (const id of intentIds) {
    const { status } = await people.sdk.paymentIntents.retrieve(id)
    if (status !== 'SUCCEEDED') await confirm(people.sdk, id, cards.approved)
  }
  const link = await people.sdk.paymentLinks.retrieve(linkId)
  assert.equal(link.status, 'CONSUMED')
  assert.equal(link.successful_payment_count, 4)
})
