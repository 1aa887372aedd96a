import { exampleIds } from './example-ids.ts'

// ORDER-1001, as a code that a bank pays.

/** What every Token looks like to whoever cannot open it. */
export const token = { Token: 'eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIn0.….….….…' }

export const newCode = {
  activationCode: 'K7QM-2XVB-9RTD-4HNC',
  currency: 'PHP',
  amount: '250.00',
  merchantReferenceNumber: 'ORDER-1001',
}

export const codeText =
  '00020101021228660011ph.ppmi.p2m0111TESTPHM1XXX032503EKHLTF0S2UOGG9LJNDSUQ6C05030105204599953036085406250.005802PH5921Kapihan ni Aling Nena6006MANILA6239052503EKIY4S4NCEMV9EWOEV0MAYS0706KAPE-163041E42'

export const createdCode = {
  id: exampleIds.code,
  qrBody: 'iVBORw0KGgoAAAANSUhEUgAAAggAAAIIAQAAAAAjhyvO…',
  qrText: codeText,
  expiresAt: '2026-01-15T10:45:00.000Z',
}

export const paidCode = {
  id: exampleIds.code,
  status: 'PAID',
  amount: '250.00',
  currency: 'PHP',
  merchantReferenceNumber: 'ORDER-1001',
  createdAt: '2026-01-15T10:30:00.000Z',
  expiresAt: '2026-01-15T10:45:00.000Z',
  paidAt: '2026-01-15T10:31:00.000Z',
}
