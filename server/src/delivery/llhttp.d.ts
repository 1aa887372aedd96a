declare module 'undici/lib/llhttp/llhttp-wasm.js' {
  const compiled: Buffer<ArrayBuffer>
  export default compiled
}

// What is used of it: Node.js has it, but not its types.
declare namespace WebAssembly {
  type Imports = Readonly<Record<string, (...given: number[]) => number>>
  const Module: new (bytes: Buffer<ArrayBuffer>) => object
  const Instance: new (module: object, imports: { readonly env: Imports }) => { readonly exports: object }
  interface Memory {
    /** Another one after it grew. */
    readonly buffer: ArrayBuffer
  }
}
