/** The largest picture that is read, in bytes. Apart from what reads it, for that is much to load. */
export const imageBytesMax = 8 * 1024 * 1024
