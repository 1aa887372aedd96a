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
  '00020101021228660011ph.ppmi.p2m0111TESTPHM1XXX032503HBJQFIO8CC55NKFKIPU443G05030105204599953036085406250.005802PH5921Kapihan ni Aling Nena6006MANILA6239052503HBJQFMBRZNAUC5CYJ509H960706KAPE-1630436DA'

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
