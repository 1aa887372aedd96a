/** Ids of the examples: the same thing has the same id in every document. */
export const exampleIds = {
  /** The order service of the merchant, what it is tested with, and what it is told of ORDER-1001. */
  endpoint: '0198f4c0-0b10-7d21-9c00-000000000006',
  testEvent: '0198f591-1f20-7c4b-a5d6-3e7f8091a2b3',
  event: '0198f5a2-7c1e-7d3a-9b1f-2a6f0c9d4e11',
  partner: '0198f4c0-0900-7a10-8c51-000000000003',
  merchant: '0198f4c0-0a00-7c21-b6f0-000000000004',
  branch: '0198f4c0-0a01-7f32-8a11-000000000005',
  otherBranch: '0198f4c0-0a01-7f32-8a11-000000000007',
  /** ORDER-1001, paid by way of a link. */
  link: '0198f5a1-11c2-7b90-a3de-77f4c0aa3b02',
  intent: '0198f5a2-6f10-7a44-8c57-1f0e6a2b9d01',
  attempt: '0198f5a2-7a02-7e15-92c4-5be01d6f8c03',
  /** ORDER-1002, two cups, paid without a link; one is given back. */
  ownIntent: '0198f5b1-2e40-7b1c-9d02-6c1f4e7a8b21',
  ownAttempt: '0198f5b1-3a51-7c2d-8e13-7d205f8b9c32',
  ownRequest: '0198f5b1-3a50-7f0e-a1b4-8e31609cad43',
  refund: '0198f5c4-5b62-7d3e-9f24-9f42710dbe54',
  declinedAttempt: '0198f5b1-3b73-7e4f-8a35-a053821ecf65',
  challengedAttempt: '0198f5b1-3c84-7f50-9b46-b164932fd076',
  /** ORDER-1001, as a code of area E. */
  code: '0198f5a2-7b03-7d26-83c5-6cf12e7a9d04',
  codeAttempt: '0198f5b1-3d95-7061-8c57-c275a430e187',
  slowAttempt: '0198f5b1-3ea6-7172-9d68-d386b541f298',
  /** At the counter: a group, its webhook endpoint, and the sockets of its two terminals. */
  group: '01a21806-e083-721d-ab32-0142daa51b43',
  terminalEndpoint: 'wh_01KF0E44M0FGRTBMJEDY0938NK',
  connection: '01a21807-5247-74d1-91a1-bda5f8715668',
  otherConnection: '01a21807-5248-7b16-8f3c-9d2e64a0c517',
} as const

/** Where a page of any list ends. */
export const exampleCursor = 'p0v3mJ1qYw8bT5cKx2nZ6lsiMDE5OGY1YTEtMTFjMi03YjkwLWEzZGUtNzdmNGMwYWEzYjAyIl0'
