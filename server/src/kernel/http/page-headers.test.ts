import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageCsp, pageHeaders } from './page-headers.ts'

test('the policy allows nothing but our own files, and a submitted form to end at the merchant', () => {
  const common = `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; `
  const end = `; base-uri 'none'; frame-ancestors 'none'`
  assert.equal(pageCsp(), `${common}form-action 'self'${end}`)
  const urls = [
    'https://shop.example/a;b',
    'https://shop.example/c',
    `javascript:'; script-src *`,
    'http://127.0.0.1:9/',
  ]
  assert.equal(pageCsp(urls), `${common}form-action 'self' https://shop.example http://127.0.0.1:9${end}`)
})

test('every page is sent with headers that keep it private, unframed and fresh', () => {
  const headers = pageHeaders()
  assert.equal(headers['content-security-policy'], pageCsp())
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
  assert.match(headers['permissions-policy'] ?? '', /camera=\(\)/)
})
