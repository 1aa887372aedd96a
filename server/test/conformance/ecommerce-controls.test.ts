import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audit, auditInTheEnd } from '../ecommerce-audit.ts'
import { startWalk } from '../ecommerce-walk.ts'
import { cards, platform } from '../platform.ts'
import { bodyOf, rowsOf, shop, withoutWorker } from './shop.ts'

// The model test can fail: planted defects are found, by the walk or by the audit of the tables.

const defects: readonly (readonly [says: string, sql: string])[] = [
  [
    'a refused payment keeps its use of the link',
    `create function sandbox.keep() returns trigger language plpgsql as $$ begin
       if new.success_count = old.success_count and new.reserved_count < old.reserved_count then
         new.reserved_count := old.reserved_count; end if;
       return new; end $$;
     create trigger keep before update on ecommerce.links for each row execute function sandbox.keep()`,
  ],
  [
    'a link that is used up ends its other intents as if it had expired',
    `create function sandbox.spare() returns trigger language plpgsql as $$ begin
       if new.state = 'CONSUMED' then new.state := 'EXPIRED'; end if;
       return new; end $$;
     create trigger spare before update on payments.intents for each row execute function sandbox.spare()`,
  ],
  [
    'a link takes one payment more than it may',
    `create function sandbox.forget() returns trigger language plpgsql as $$ begin
       if new.success_count = 1 and old.success_count = 0 and new.type = 'multi_use' then new.success_count := 0; new.state := 'ACTIVE'; end if;
       return new; end $$;
     create trigger forget before update on ecommerce.links for each row execute function sandbox.forget()`,
  ],
]

for (const [says, sql] of defects) {
  test(`the walk finds it when ${says}`, async (t) => {
    const p = await platform(t, withoutWorker)
    await rowsOf(p, `do $plant$ begin ${sql.replaceAll(/^ {5}/gm, '')}; end $plant$`)
    const walk = startWalk(p, 7)
    await assert.rejects(
      async () => {
        while (walk.steps < 1_000) await walk.move()
        await walk.compareAll()
      },
      { code: 'ERR_ASSERTION' },
    )
    // It was told by what is shown, not by a request that failed.
    assert.doesNotMatch(p.logged.join(''), /for a cause of ours/)
  })
}

const plants: readonly (readonly [says: RegExp, sql: string])[] = [
  [/counts its attempts/, 'update payments.intents set attempt_count = attempt_count + 1 where attempt_count > 0'],
  [/says when it was paid/, 'update payments.intents set succeeded_at = null where succeeded_at is not null'],
  [/a link counts the successes/, `update ecommerce.links set success_count = 0`],
  [/a use is RESERVED/, `delete from ecommerce.link_uses where state = 'SPENT'`],
  [/has no intent left that is open/, `update payments.intents set state = 'ACTIVE' where state = 'CONSUMED'`],
  [
    /has no open challenge/,
    `update payments.attempts set state = 'REQUIRES_ACTION', challenge_expires_at = kernel.now() + interval '1 day' where state = 'ABANDONED'`,
  ],
  [/has one event of its kind/, `delete from delivery.events where type = 'payment.declined'`],
  [/has one event of its kind/, `update delivery.events set type = 'payment.failed' where type = 'payment.declined'`],
  [
    /told once at most/,
    `insert into delivery.events (id, dialect, type, partner_id, merchant_id, branch_id, payment_intent_id, body, created_at)
     select id, 'signed', 'payment.expired', partner_id, merchant_id, branch_id, id, '{"data":{}}', created_at
       from payments.intents where succeeded_at is not null`,
  ],
  [/has one transaction/, `update payments.transactions set status = 'FAILED' where status = 'CAPTURED'`],
  [/has one transaction/, 'delete from payments.transactions'],
]

test('the audit finds each planted contradiction in the tables, and none where nothing was planted', async (t) => {
  const p = await platform(t, withoutWorker)
  const merchant = shop(p)
  const link = bodyOf(await merchant.createLink(), 201)
  for (const card of [cards.declined, cards.challenge, cards.approved]) {
    const { id } = bodyOf(await merchant.createIntent({ payment_link_id: link.id }), 201)
    bodyOf(await merchant.confirm(id, card), 200)
  }
  bodyOf(await merchant.createIntent(), 201)
  await audit(p)
  await assert.rejects(auditInTheEnd(p), /nobody paid has told so/)
  const undone = new Error('undone')
  for (const [says, sql] of plants) {
    const planted = p.kaha.db.tx(async (tx) => {
      await tx.run({ name: '', text: sql }, [])
      const inside = { kaha: { ...p.kaha, db: { ...p.kaha.db, run: tx.run } } }
      await assert.rejects(audit(inside), says, sql)
      throw undone
    })
    await assert.rejects(planted, undone)
  }
  await audit(p)
})
