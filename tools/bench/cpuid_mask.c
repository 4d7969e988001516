// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shows a program an x86-64-v3 CPU on one that has more, so that engines can be compared as they run there. Most ask
// the cpuid instruction itself, which no environment variable reaches, and generate code by its answer.
//
// Loaded through LD_AUDIT: the dynamic linker then names every object before any of its code runs. Each cpuid that
// CPUID_MASK_SITES lists, one "PATH OFFSET" a line, is replaced in memory by a breakpoint of its length, and the signal
// that follows answers as cpuid does, without what AVX-512, AMX and AVX-VNNI would be recognised by. No file changes.

#define _GNU_SOURCE
#include <cpuid.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_SITES = 4096, SITE_BYTES = 2 };
// int3 and nop: a breakpoint, since programs that report their own crashes handle the signal of ud2 themselves.
static const unsigned char CPUID[SITE_BYTES] = {0x0f, 0xa2}, TRAP[SITE_BYTES] = {0xcc, 0x90};

// Leaf 7: avx512f, dq, ifma, pf, er, cd, bw, vl; vbmi, vbmi2, vnni, bitalg, vpopcntdq; 4vnniw, 4fmaps, vp2intersect,
// fp16 and AMX with its bf16 and int8.
static const uint32_t LEAF7_EBX = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31;
static const uint32_t LEAF7_ECX = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
static const uint32_t LEAF7_EDX = 1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
// Leaf 7, subleaf 1: avx-vnni, avx512-bf16, amx-fp16, avx-ifma; avx-vnni-int8, avx-ne-convert, amx-complex,
// avx-vnni-int16, avx10.
static const uint32_t LEAF7_1_EAX = 1u << 4 | 1u << 5 | 1u << 21 | 1u << 23;
static const uint32_t LEAF7_1_EDX = 1u << 4 | 1u << 5 | 1u << 8 | 1u << 10 | 1u << 19;

static char *site_paths[MAX_SITES];
static uintptr_t site_offsets[MAX_SITES];
static int site_count;

static void fail(const char *what) {
  fprintf(stderr, "cpuid_mask: %s\n", what);
  _exit(126);
}

// Answers a breakpoint that was a cpuid; execution goes on with its nop. Any other one ends the program, as without us.
static void answer(int number, siginfo_t *info, void *opaque) {
  (void)info;
  greg_t *registers = ((ucontext_t *)opaque)->uc_mcontext.gregs;
  if (memcmp((const unsigned char *)registers[REG_RIP] - 1, TRAP, SITE_BYTES) != 0) {
    signal(number, SIG_DFL);
    raise(number);
  }
  uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX], a, b, c, d;
  __cpuid_count(leaf, subleaf, a, b, c, d);
  if (leaf == 7 && subleaf == 0) {
    b &= ~LEAF7_EBX;
    c &= ~LEAF7_ECX;
    d &= ~LEAF7_EDX;
  } else if (leaf == 7 && subleaf == 1) {
    a &= ~LEAF7_1_EAX;
    d &= ~LEAF7_1_EDX;
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
}

static void patch(unsigned char *site) {
  // Measured on another version of the file: to go on would time an engine that isn't held.
  if (memcmp(site, CPUID, SITE_BYTES) != 0)
    fail("there is no cpuid where one was listed");
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)site & ~(page - 1);
  size_t size = (uintptr_t)site + SITE_BYTES - begin;
  if (mprotect((void *)begin, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    fail("a page of code can't be made writable");
  memcpy(site, TRAP, SITE_BYTES);
  mprotect((void *)begin, size, PROT_READ | PROT_EXEC);
}

unsigned la_version(unsigned version) {
  const char *path = getenv("CPUID_MASK_SITES");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file)
    fail("CPUID_MASK_SITES names no file that can be read");
  static char line[PATH_MAX + 32];
  while (fgets(line, sizeof line, file)) {
    char *space = strrchr(line, ' ');
    if (!space || site_count == MAX_SITES)
      fail("the list of sites is damaged or too long");
    *space = '\0';
    site_offsets[site_count] = strtoull(space + 1, NULL, 16);
    site_paths[site_count++] = strdup(line);
  }
  fclose(file);
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGTRAP, &action, NULL);
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
  (void)space;
  (void)cookie;
  char path[PATH_MAX];
  // The program itself has an empty name.
  if (realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", path))
    for (int i = 0; i < site_count; ++i)
      if (strcmp(site_paths[i], path) == 0)
        patch((unsigned char *)(map->l_addr + site_offsets[i]));
  return 0;
}

// Whether the calling thread has used zmm16 to zmm31 or their lower parts since it started: what no code for AVX2 can,
// and every kernel for AVX-512 does. The processor itself keeps track, so that saving can skip what is unused.
int cpuid_mask_was_evaded(void) {
  uint32_t a, b, c, d, low, high;
  // A processor that can't tell (leaf 13, subleaf 1) is older than AVX-512.
  if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a >> 2 & 1))
    return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low >> 7 & 1;
}
