/* Long sequences, drawn from a seed. For each round the kind of database, the sort of table and the
 * weights of the statements are drawn, too: some statements are left out, and others come often, so
 * that each kind of trouble has rounds of its own (Groce et al., "Swarm Testing", 2012). */
#include "world.h"

#include "../runner/random.h"

static uint64_t random_state;

static unsigned random_below(unsigned range) {
    return (unsigned)((random_next(&random_state) >> 32) * range >> 32);
}

/* A fault of the disk needs one; in a shared cache a failed rollback fails all that share it. */
static struct step random_step(unsigned statement, unsigned faults) {
    struct step step = {(unsigned char)statement, 0, 0};
    if (random_below(100) >= faults || (kind->holds & IN_SHARED) != 0)
        return step;
    step.fault = (unsigned char)(1 + random_below((unsigned)FAULT_COUNT - 1));
    const struct fault *fault = &FAULT[step.fault];
    if (fault->is_disk && (kind->holds & (IN_FILE | IN_ATTACHED)) == 0)
        step.fault = (unsigned char)(1 + random_below(3));
    /* The disk is called far less often than memory is allocated. */
    step.count = (short)(1 + random_below(1U << random_below(FAULT[step.fault].is_disk ? 5 : 9)));
    if (random_below(3) == 0)
        step.count = (short)-step.count;
    return step;
}

static struct sequence draw(void) {
    static const unsigned FACTORS[] = {0, 1, 1, 4}, FAULTS[] = {0, 3, 15, 50};
    struct sequence sequence = {20 + (int)random_below(LONGEST - 20), {{0, 0, 0}}};
    const unsigned faults = FAULTS[random_below(4)];
    unsigned weights[64], sum = 0;
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sum += weights[i] = (unsigned)STATEMENT[i].weight * FACTORS[random_below(4)];
    for (int step = 0; step < sequence.length; step++) {
        unsigned at = random_below(sum), i = 0;
        while (i + 1 < STATEMENT_COUNT && at >= weights[i])
            at -= weights[i++];
        sequence.steps[step] = random_step(i, faults);
    }
    return sequence;
}

static void no_names(const char *names) {
    (void)names;
}

void run_random(uint64_t seed, int rounds) {
    for (; rounds > 0; rounds--, seed++) {
        random_state = seed;
        kind = &KIND[random_below((unsigned)KIND_COUNT)];
        sort = &SORT[random_below((unsigned)SORT_COUNT)];
        start = &START[0];
        has_small_cache = strcmp(kind->name, "temp") != 0 && random_below(4) == 0;
        world_make(no_names);
        const struct sequence sequence = draw();
        if (!run_drawn(&sequence))
            printf("SEED=%llu\n", (unsigned long long)seed);
    }
}
