import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createKahaQr, imageBytesMax } from '@kaha/sdk'
import { finish, folder, launch, start } from './program.ts'

const home = folder({ after })
const dataDir = join(home, 'data')
const cli = join(import.meta.dirname, '../../../cli/src/main.ts')
const kaha = (args: readonly string[], settings: Readonly<Record<string, string>> = { KAHA_DATA_DIR: dataDir }) =>
  finish({ after }, { command: [process.execPath, cli], args: ['pay', ...args], settings })

test('S7.bank.any-text: kaha pay reads, pays, declines and lets expire a code of a running sandbox, from its text or a picture', async (t) => {
  const { sandbox } = await start(t, dataDir, { args: ['--empty'] })
  const [merchant] = sandbox.merchants
  const [branch] = merchant?.branches ?? []
  assert.ok(merchant && branch)
  const qr = createKahaQr({
    qrUrl: sandbox.qr_url,
    secretKey: merchant.secret_key,
    encryptionKey: merchant.encryption_key,
  })
  const made = (merchantReferenceNumber: string) =>
    qr.create({ activationCode: branch.activation_code, currency: 'PHP', amount: '98.00', merchantReferenceNumber })

  const one = await made('ORDER-1')
  const picture = join(home, 'code.png')
  await writeFile(picture, Buffer.from(one.qrBody, 'base64'))
  const read = await kaha([picture, '--read'])
  assert.equal(read.stdout, `PHP 98.00 to ${merchant.name}, MANILA (TESTPHM1XXX). It is PENDING.\n`, read.stderr)
  assert.equal((await kaha([picture])).stdout, `PAID: PHP 98.00 to ${merchant.name}, ORDER-1\n`)
  const again = await kaha([one.qrText])
  assert.deepEqual([again.code, again.stdout], [1, ''])
  assert.match(again.stderr, /^kaha: This code is PAID[^\n]*\n$/)

  const empty = join(home, 'empty.png')
  await writeFile(empty, '')
  assert.match((await kaha([empty])).stderr, /^kaha: the picture .*empty\.png is empty\n$/)
  const large = join(home, 'large.png')
  await writeFile(large, Buffer.alloc(imageBytesMax + 1024 * 1024))
  assert.match((await kaha([large])).stderr, /^kaha: the picture .*large\.png has more than 8 MiB: [^\n]*\n$/)
  assert.match((await kaha([join(home, 'none.png')])).stderr, /^kaha: there is no picture .*none\.png\n$/)

  const two = await made('ORDER-2')
  const declined = await kaha([two.qrText, '--decline', '--json'])
  assert.equal(JSON.parse(declined.stdout).status, 'DECLINED')
  const three = await made('ORDER-3')
  assert.match((await kaha([three.qrText, '--expire'])).stdout, /^EXPIRED: /)
})

test('kaha pay says in a line what is wrong with how it was called, and where no sandbox runs', async () => {
  for (const flag of ['--help', '-h']) assert.match((await kaha([flag])).stdout, /^kaha pay CODE /)
  for (const args of [[], ['a', '--decline', '--expire']]) {
    const { code, stderr } = await kaha(args)
    assert.deepEqual([code, stderr.startsWith('kaha: '), stderr.split('\n').length], [1, true, 2], stderr)
  }
  assert.match((await kaha(['a', '--read', '--decline'])).stderr, /one of --decline, --expire and --read/)
  assert.match(
    (await kaha(['a', '--foo'])).stderr,
    /^kaha: Unknown option '--foo'; `kaha pay --help` tells what there is\n$/,
  )
  const broken = join(home, 'broken')
  await mkdir(broken)
  const told = async (file: string) => {
    await writeFile(join(broken, 'sandbox.json'), file)
    return (await kaha(['a'], { KAHA_DATA_DIR: broken })).stderr
  }
  const sandbox = {
    base_url: 'http://localhost:1',
    sandbox_url: 'http://localhost:1',
    partner: { secret_key: 'sk_test_x' },
  }
  for (const wrong of [{ base_url: 'foo' }, { sandbox_url: 7 }, { partner: { secret_key: 'sk test x' } }])
    assert.match(
      await told(JSON.stringify({ ...sandbox, ...wrong })),
      /^kaha: [^\n]*is no file of a sandbox: [^\n]*\n$/,
    )
  assert.match(await told('{"partner":{"secret_key":"sk_test_x'), /^kaha: [^\n]*is no file of a sandbox: [^\n]*\n$/)
  const nobodyThere = JSON.stringify({
    base_url: 'http://127.0.0.1:9',
    sandbox_url: 'http://127.0.0.1:9/sandbox',
    partner: { secret_key: 'sk_test_x' },
  })
  assert.match(await told(nobodyThere), /^kaha: [^\n]*; does the sandbox run\?\n$/)
  assert.match((await kaha(['a'], { KAHA_DATA_DIR: join(home, 'none') })).stderr, /^kaha: there is no .*sandbox\.json/)
  const unreadable = join(home, 'unreadable')
  await mkdir(join(unreadable, 'sandbox.json'), { recursive: true })
  assert.match(
    (await kaha(['a'], { KAHA_DATA_DIR: unreadable })).stderr,
    /^kaha: .*sandbox\.json cannot be read \(EISDIR\): /,
  )
})

test('kaha pay goes on where nobody reads what it says, and takes an empty KAHA_DATA_DIR for none', async (t) => {
  const unread = launch(t, { command: [process.execPath, cli], args: ['pay', '--help'] })
  unread.child.stdout?.destroy()
  assert.deepEqual([await unread.ended, unread.stderr()], [0, ''])
  // Whether a sandbox runs in .kaha or none does, it is the one that is meant.
  assert.doesNotMatch((await kaha(['a'], { KAHA_DATA_DIR: '' })).stderr, /there is no sandbox\.json/)
})
