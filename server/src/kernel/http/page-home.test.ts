import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeOf } from './page-home.ts'

const usual = 'http://localhost:8080/pay'
const page = '/l/token?lang=fil'

test('a page that is asked for by another name of this machine stands at its own address', () => {
  for (const host of ['127.0.0.1:8080', '127.0.0.2:8080', '[::1]:8080', '[::FFFF:127.0.0.1]:8080'])
    assert.equal(homeOf({ host, path: page }, usual), `${usual}${page}`, host)
  const asked = { host: 'LOCALHOST', path: page }
  assert.equal(homeOf(asked, 'http://127.0.0.1/pay'), `http://127.0.0.1/pay${page}`)
  assert.equal(homeOf(asked, 'https://[::1]'), `https://[::1]${page}`)
  assert.equal(homeOf({ host: 'localhost:443', path: page }, 'https://[::1]'), `https://[::1]${page}`)
  assert.equal(homeOf({ host: '127.0.0.1:8080', path: '' }, usual), usual)
  assert.equal(homeOf({ host: '127.0.0.1:8080', path: '/l/a?b=c?d' }, usual), `${usual}/l/a?b=c?d`)
})

test('nobody is led on who came to the address itself, or by a name or port that a proxy may have put in', () => {
  const others = [
    'localhost:8080',
    'LOCALHOST:8080',
    '127.0.0.1',
    '127.0.0.1:8081',
    '192.168.1.5:8080',
    'kaha:8080',
    '127.0.0.1.evil.example:8080',
    'localhost@evil.example:8080',
    '127.0.0.1:8080@evil.example',
    'a b',
    '',
    undefined,
  ]
  for (const host of others) assert.equal(homeOf({ host, path: page }, usual), undefined, host)
  for (const home of ['https://pay.example', 'https://pay.example/pay', 'https://localhost:8443/pay'])
    assert.equal(homeOf({ host: '127.0.0.1:8080', path: page }, home), undefined, home)
  assert.equal(homeOf({ host: '127.0.0.1:8080', path: page }, 'http://192.168.1.5:8080/pay'), undefined)
})

test('no path leads to another host', () => {
  for (const path of [
    '//evil.example',
    '/..//evil.example',
    '@evil.example',
    '.evil.example/',
    '\\\\evil.example',
    ':1/',
  ])
    for (const home of [usual, 'http://localhost:8080'])
      assert.equal(new URL(homeOf({ host: '127.0.0.1:8080', path }, home) ?? '').host, 'localhost:8080', path)
})
