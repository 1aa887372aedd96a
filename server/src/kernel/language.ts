/** What pages and messages for payers are written in: English and Filipino, by the names of RFC 5646. */
export type Language = 'en' | 'fil'
