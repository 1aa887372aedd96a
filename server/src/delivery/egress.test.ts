import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import tls from 'node:tls'
import { test, type TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'
import { nameServer } from '../../test/name-server.ts'
import { receiverCertificate } from '../../test/receiver-certificate.ts'
import { createEgress, failureOf, type EgressOptions, type EgressResult, type Lookup, type Targets } from './egress.ts'

const hasIPv6 = Object.values(os.networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const publicAddress = '93.184.215.14'

/** An https receiver on loopback that counts what reaches it, connections that were never used included. */
async function receiver(t: TestContext, answer: http.RequestListener = (_, response) => response.end('received')) {
  const server = https.createServer(receiverCertificate, (request, response) => {
    reached.requests += 1
    answer(request, response)
  })
  const reached = { port: 0, connections: 0, requests: 0 }
  server.on('connection', () => (reached.connections += 1))
  server.listen(0, hasIPv6 ? '::' : '0.0.0.0')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  reached.port = (server.address() as net.AddressInfo).port
  return reached
}

function guard(t: TestContext, targets: Targets, more: Partial<EgressOptions> = {}) {
  const guarded = createEgress({ targets, userAgent: 'Kaha', tls: { ca: receiverCertificate.cert }, ...more })
  t.after(() => guarded[Symbol.asyncDispose]())
  return { ...guarded, send: (url: string) => guarded.post({ url, headers: { 'webhook-id': 'evt_1' }, body: '{}' }) }
}

/** `refused_target destination`, or the status. */
function outcome(result: EgressResult): string {
  return result.ok ? String(result.answer.status) : `${result.failure.errorClass} ${result.failure.owner}`
}

const refused = 'refused_target destination'

function answers(names: Record<string, string[]>): Lookup {
  return (hostname, _, callback) => {
    const found = names[hostname.toLowerCase().replace(/\.$/, '')] ?? []
    process.nextTick(
      callback,
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
}

const names: Record<string, string[]> = {
  localhost: ['127.0.0.1'],
  'a.localhost': ['127.0.0.1'],
  'loopback.receiver.test': ['127.0.0.1'],
  'loopback6.receiver.test': ['::1'],
  'mapped.receiver.test': ['::ffff:127.0.0.1'],
  'everywhere.receiver.test': ['0.0.0.0'],
  'mixed.receiver.test': ['127.0.0.1', publicAddress],
  'mixed-last.receiver.test': [publicAddress, '2606:4700:4700::1111', '127.0.0.1'],
  'metadata.receiver.test': ['169.254.169.254'],
  'intranet.receiver.test': ['10.0.0.1'],
  'nat64.receiver.test': ['64:ff9b::7f00:1'],
  'scoped.receiver.test': ['fe80::1%lo'],
  'decimal.receiver.test': ['2130706433'],
  'garbage.receiver.test': ['not an address'],
}

/** Hosts that lead to this machine: each is refused in public mode, and the same URL arrives in the other mode. */
const leadingHere = `
  127.0.0.1 127.0.0.1. 127.1 127.1. 127.0.1 2130706433 2130706433. 0x7f000001 0x7F000001. 0x7f.1 0x7f.0.0.1
  0x7f.0x0.0x0.0x1 0x00000000007f000001 017700000001 0177.1 0177.0.0.1 00000177.00.0x0.01 127.0x0.1 127.0.0x1
  １２７.０.０.１ ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 127。0。0。1 127．0．0．1 127｡0｡0｡1 ０ｘ７ｆ.1 %31%32%37.0.0.1 127%2e0%2e0%2e1 0.0.0.0 0 0x0
  00.0 localhost localhost. LOCALHOST loc%61lhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ a.localhost loopback.receiver.test
  loopback.receiver.test. everywhere.receiver.test mixed.receiver.test
`
  .trim()
  .split(/ +|\n +/)
  .concat('127.0.\n0.1', '127.0.\u00ad0.1')

/** The same, on machines with IPv6. */
const leadingHere6 = `
  [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0.0.0.1] [::] [::ffff:127.0.0.1] [::FFFF:7f00:1]
  [0:0:0:0:0:ffff:127.0.0.1] loopback6.receiver.test mapped.receiver.test
`
  .trim()
  .split(/ +|\n +/)

/** Hosts that lead elsewhere, or nowhere: refused in public mode. */
const leadingElsewhere = `
  127.255.255.254 169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 10.0.0.1 012.0.0.1 0xa000001
  172.16.0.1 172.31.255.254 192.168.0.1 192.168.257 100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.192
  198.18.0.1 224.0.0.1 255.255.255.255 4294967295 [::127.0.0.1] [::ffff:169.254.169.254] [::ffff:8.8.8.8]
  [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::127.0.0.1] [2002:7f00:1::]
  [2002:a9fe:a9fe::1] [2001:0:4136:e378:8000:63bf:80ff:fffe] [2606:4700::5efe:127.0.0.1] [fe80::1] [fec0::1]
  [fc00::1] [fd00:ec2::254] [ff02::1] [100::1] [5f00::1] mixed-last.receiver.test metadata.receiver.test
  intranet.receiver.test nat64.receiver.test scoped.receiver.test decimal.receiver.test garbage.receiver.test
`
  .trim()
  .split(/ +|\n +/)

test('no spelling of an address that is not public is ever connected to in public mode', async (t) => {
  const here = await receiver(t)
  const { send, vet } = guard(t, 'public', { lookup: answers(names) })
  const spellings = [...leadingHere, ...leadingHere6, ...leadingElsewhere]
  assert.ok(new Set(spellings).size >= 60)
  for (const host of spellings) {
    const url = `https://${host}:${here.port}/hook`
    assert.equal(outcome(await send(url)), refused, url)
    if (!host.includes('receiver.test')) assert.equal(vet(url), 'The URL must lead to a public address.', url)
  }
  assert.deepEqual([here.connections, here.requests], [0, 0])
})

test('control: the same spellings arrive where every target is allowed, so it was the guard that refused them', async (t) => {
  const here = await receiver(t)
  const { send, vet } = guard(t, 'any', { lookup: answers(names) })
  const spellings = [...leadingHere, ...(hasIPv6 ? leadingHere6 : [])]
  for (const host of spellings) {
    const url = `https://${host}:${here.port}/hook`
    assert.equal(vet(url), null, url)
    assert.equal(outcome(await send(url)), '200', url)
  }
  assert.equal(here.requests, spellings.length)
})

/**
 * Stands in for the internet: what the guard dials is noted and led to loopback instead, and the socket says that its
 * peer is the address that was dialled (or, where `honest`, who it really is).
 */
function internet(t: TestContext, { honest = false } = {}) {
  const dialled: string[] = []
  const { connect } = tls
  t.mock.method(tls, 'connect', (options: tls.ConnectionOptions) => {
    const lookup: net.LookupFunction = (hostname, more, callback) =>
      options.lookup?.(hostname, { ...more, all: true }, (error, addresses) => {
        if (error !== null || typeof addresses === 'string') return callback(error, [])
        const value = addresses[0]?.address ?? ''
        dialled.push(value)
        if (!honest) Object.defineProperty(socket, 'remoteAddress', { value })
        callback(null, [{ address: '127.0.0.1', family: 4 }])
      })
    const socket: tls.TLSSocket = connect({ ...options, lookup })
    return socket
  })
  return dialled
}

test('in public mode a public receiver gets the request, at the very address that was vetted', async (t) => {
  const here = await receiver(t)
  const dialled = internet(t)
  const { send } = guard(t, 'public', {
    lookup: answers({ 'shop.receiver.test': [publicAddress, '2606:4700:4700::1111'] }),
  })
  assert.equal(outcome(await send(`https://shop.receiver.test:${here.port}/hook`)), '200')
  assert.deepEqual(dialled, [publicAddress])
})

test('nothing is sent when another than the vetted address picks up', async (t) => {
  const here = await receiver(t)
  const dialled = internet(t, { honest: true })
  const { send } = guard(t, 'public', { lookup: answers({ 'shop.receiver.test': [publicAddress] }) })
  assert.equal(outcome(await send(`https://shop.receiver.test:${here.port}/hook`)), refused)
  assert.deepEqual([dialled, here.requests], [[publicAddress], 0])
})

test('a redirect to a private address is an answer, and nobody follows it', async (t) => {
  const inside = await receiver(t)
  const location = `https://127.0.0.1:${inside.port}/`
  const here = await receiver(t, (_, response) => response.writeHead(307, { location }).end())
  const dialled = internet(t)
  const { send } = guard(t, 'public', { lookup: answers({ 'shop.receiver.test': [publicAddress] }) })
  const result = await send(`https://shop.receiver.test:${here.port}/hook`)
  assert.ok(result.ok)
  assert.equal(result.answer.status, 307)
  assert.deepEqual([dialled, inside.connections], [[publicAddress], 0])
})

test('a name that a real name server leads to a private address is refused, also when only one of its addresses is private', async (t) => {
  const here = await receiver(t)
  const records: Record<string, string[]> = {
    'loopback.receiver.test': ['127.0.0.1'],
    'loopback6.receiver.test': ['::1'],
    'mapped.receiver.test': ['::ffff:7f00:1'],
    'nat64.receiver.test': ['64:ff9b::7f00:1'],
    'mixed.receiver.test': [publicAddress, '127.0.0.1'],
    'mixed6.receiver.test': [publicAddress, '::1'],
  }
  const lookup = await nameServer(t, (name) => records[name] ?? [])
  const [strict, loose] = [guard(t, 'public', { lookup }), guard(t, 'any', { lookup })]
  for (const name of Object.keys(records)) {
    assert.equal(outcome(await strict.send(`https://${name}:${here.port}/`)), refused, name)
  }
  assert.equal(here.connections, 0)
  assert.equal(outcome(await loose.send(`https://loopback.receiver.test:${here.port}/`)), '200')
  assert.equal(outcome(await strict.send(`https://nowhere.receiver.test:${here.port}/`)), 'dns destination')
})

test('a name that turns to a private address between look-ups is dialled at the vetted address once, and then refused', async (t) => {
  const here = await receiver(t, (_, response) => response.setHeader('connection', 'close').end())
  const turning = (_: string, lookups: number) => (lookups === 0 ? [publicAddress] : ['127.0.0.1'])
  const dialled = internet(t)
  let injected = 0
  const throughFunction: Lookup = (_, __, callback) =>
    process.nextTick(callback, null, [{ address: turning('', injected++)[0] ?? '', family: 4 }])
  for (const lookup of [await nameServer(t, turning), throughFunction]) {
    const { send, vet } = guard(t, 'public', { lookup })
    const url = `https://turning.receiver.test:${here.port}/hook`
    assert.equal(vet(url), null)
    // A guard that looked up once to vet and once more to connect would have connected to loopback here.
    assert.equal(outcome(await send(url)), '200')
    assert.equal(outcome(await send(url)), refused)
  }
  assert.deepEqual([dialled, here.requests], [[publicAddress, publicAddress], 2])
})

test('a certificate of another name, or of an authority that is not trusted, is a failure of TLS', async (t) => {
  const here = await receiver(t)
  const lookup = answers({ 'shop.receiver.test': ['127.0.0.1'], 'shop.example.com': ['127.0.0.1'] })
  const trusting = guard(t, 'any', { lookup })
  assert.equal(outcome(await trusting.send(`https://shop.receiver.test:${here.port}/`)), '200')
  assert.equal(outcome(await trusting.send(`https://shop.example.com:${here.port}/`)), 'tls destination')

  const environment = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.after(() => {
    if (environment === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = environment
  })
  const publicOnly = createEgress({ targets: 'any', userAgent: 'Kaha', lookup })
  t.after(() => publicOnly[Symbol.asyncDispose]())
  const result = await publicOnly.post({ url: `https://shop.receiver.test:${here.port}/`, headers: {}, body: '' })
  assert.equal(outcome(result), 'tls destination')
  assert.equal(here.requests, 1)
})

test('a receiver that speaks http where https was promised is a failure of TLS', async (t) => {
  const server = http.createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { send } = guard(t, 'any')
  assert.equal(
    outcome(await send(`https://127.0.0.1:${(server.address() as net.AddressInfo).port}/`)),
    'tls destination',
  )
})

test('a receiver that asks for a certificate of ours is a failure of TLS, in whichever version it says so', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const server = tls.createServer({ ...receiverCertificate, maxVersion, requestCert: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const url = `https://127.0.0.1:${(server.address() as net.AddressInfo).port}/`
    assert.equal(outcome(await guard(t, 'any').send(url)), 'tls destination', maxVersion)
  }
})

test('every failure has the owner who must act, and its message quotes nobody', () => {
  const failures: [code: string, phase: Parameters<typeof failureOf>[1], expected: string][] = [
    ['ENOTFOUND', 'lookup', 'dns destination'],
    ['ENODATA', 'lookup', 'dns destination'],
    ['EAI_AGAIN', 'lookup', 'dns path'],
    ['ESERVFAIL', 'lookup', 'dns path'],
    ['ETIMEOUT', 'lookup', 'dns path'],
    ['ECONNREFUSED', 'lookup', 'dns path'],
    ['EMFILE', 'lookup', 'dns ours'],
    ['ECONNREFUSED', 'connect', 'connect destination'],
    ['ECONNRESET', 'connect', 'connect destination'],
    ['ETIMEDOUT', 'connect', 'timeout destination'],
    ['EHOSTUNREACH', 'connect', 'connect path'],
    ['ENETUNREACH', 'connect', 'connect path'],
    ['EACCES', 'connect', 'connect path'],
    ['EMFILE', 'connect', 'connect ours'],
    ['ENFILE', 'connect', 'connect ours'],
    ['ENOMEM', 'connect', 'connect ours'],
    ['ENOBUFS', 'connect', 'connect ours'],
    ['EADDRNOTAVAIL', 'connect', 'connect ours'],
    ['ECONNRESET', 'tls', 'tls destination'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls', 'tls destination'],
    ['CERT_HAS_EXPIRED', 'tls', 'tls destination'],
    ['ECONNRESET', 'answer', 'reset destination'],
    ['EPIPE', 'answer', 'reset destination'],
    ['ETIMEDOUT', 'answer', 'timeout destination'],
    ['EHOSTUNREACH', 'answer', 'reset path'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'answer', 'tls destination'],
    ['HPE_HEADER_OVERFLOW', 'answer', 'protocol destination'],
    ['HPE_INVALID_CONSTANT', 'answer', 'protocol destination'],
    ['anything else 10.0.0.1', 'answer', 'protocol destination'],
  ]
  for (const [code, phase, expected] of failures) {
    const { errorClass, owner, message } = failureOf(Object.assign(new Error('said at 10.0.0.1'), { code }), phase)
    assert.equal(`${errorClass} ${owner}`, expected, `${code} while ${phase}`)
    assert.ok(message.length <= 100 && !message.includes('10.0.0.1'), message)
  }
})

/** As `net` reports it when each of several addresses failed. */
function allFailed(...codes: string[]): Error {
  return new AggregateError(codes.map((code) => Object.assign(new Error(), { code })))
}

test('of several addresses that failed, the one that tells most decides', () => {
  assert.equal(failureOf(allFailed('ENETUNREACH', 'ENETUNREACH'), 'connect').owner, 'path')
  assert.equal(failureOf(allFailed('ENETUNREACH', 'ECONNREFUSED'), 'connect').owner, 'destination')
  assert.equal(failureOf(allFailed('ECONNREFUSED', 'EMFILE'), 'connect').owner, 'ours')
})

/** A listener that has no room for one more connection until it wakes: whose first packet comes before is as if it was lost. */
async function overrun(t: TestContext, host: string, asleepMs: number): Promise<number> {
  const listener = new Worker(
    `const { parentPort, workerData: { host, asleepMs } } = require('node:worker_threads')
     const server = require('node:net').createServer((socket) => {
       socket.on('error', () => {}).on('data', () => socket.end('HTTP/1.1 200 OK\\r\\n\\r\\n'))
     })
     server.listen({ host, port: 0, backlog: 1 }, () => {
       parentPort.postMessage(server.address().port)
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, asleepMs)
     })`,
    { eval: true, workerData: { host, asleepMs } },
  )
  t.after(() => listener.terminate())
  const [port] = (await once(listener, 'message')) as [number]
  const before = Array.from({ length: 2 }, () => net.connect({ host, port }))
  t.after(() => before.forEach((socket) => socket.destroy()))
  await Promise.all(before.map((socket) => once(socket, 'connect')))
  return port
}

// Elsewhere than on Linux a listener without room refuses, and 127.0.0.2 is no address.
const notLinux = process.platform === 'linux' ? false : 'no listener can be overrun here'

test(
  'of several addresses one whose first packet was lost gets the second, a second later',
  { skip: notLinux },
  async (t) => {
    const port = await overrun(t, '127.0.0.1', 500)
    const lookup = answers({ 'shop.receiver.test': ['127.0.0.1', '127.0.0.2'] })
    const result = await guard(t, 'any', { lookup }).send(`http://shop.receiver.test:${port}/`)
    const durationMs = result.ok ? result.answer.durationMs : result.failure.durationMs
    assert.equal(outcome(result), '200')
    assert.ok(durationMs >= 900, `the first packet was not lost: ${durationMs} ms`)
  },
)

test('a look-up that fails is told apart by whose fault it is', async (t) => {
  const codes: Record<string, string> = {
    'gone.example.com': 'ENOTFOUND',
    'full.example.com': 'EMFILE',
    'hidden.example.com': 'EAI_AGAIN',
  }
  const { send } = guard(t, 'any', {
    lookup: (hostname, _, callback) => callback(Object.assign(new Error(), { code: codes[hostname] }), []),
  })
  assert.equal(outcome(await send('https://gone.example.com/')), 'dns destination')
  assert.equal(outcome(await send('https://full.example.com/')), 'dns ours')
  assert.equal(outcome(await send('https://hidden.example.com/')), 'dns path')
})
